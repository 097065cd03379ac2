import Foundation
import NephosWire

/// A field's value as a record keeps it: immutable, of one of the types that CloudKit stores.
///
/// Callers get it as the Foundation object that Apple's framework hands out (`object`).
enum RecordValue: Hashable, Sendable {
    case string(String)
    case bool(Bool)
    case int64(Int64)
    /// An unsigned number above `Int64.max`. No field of the service holds it, so it is not saved.
    case uint64(UInt64)
    case double(Double)
    case date(Date)
    case data(Data)
    case location(CLLocation)
    case reference(CKRecord.Reference)
    case asset(CKAsset)
    case list([RecordValue])
    /// A value as the service has it, until it is opened.
    case sealed(SealedFieldValue)

    /// Takes a copy of a value that a caller set; nil where CloudKit has no such field type.
    init?(_ value: Any) {
        switch value {
        case let value as String: self = .string(value)
        // A number casts to every Swift type that can represent it, so numbers are looked at as NSNumber.
        case let value as NSNumber where value.isBoolean: self = .bool(value.boolValue)
        case let value as NSNumber: self.init(number: value)
        // Not every build of Foundation bridges these two to NSNumber where they are held as Any.
        case let value as CGFloat: self = .double(Double(value))
        case let value as Decimal: self = .double(NSDecimalNumber(decimal: value).doubleValue)
        case let value as Date: self = .date(value)
        case let value as Data: self = .data(Data(value))
        case let value as CKRecord.Reference: self = .reference(value)
        case let value as CKAsset: self = .asset(value)
        case let value as CLLocation: self = .location(value)
        case let value as NSArray: self.init(elements: value)
        default: return nil
        }
    }

    private init(number: NSNumber) {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .double(number.doubleValue)
        case UInt8(ascii: "Q"):
            let value = number.uint64Value
            self = Int64(exactly: value).map(RecordValue.int64) ?? .uint64(value)
        default: self = .int64(number.int64Value)
        }
    }

    /// A list's elements are single values of one kind; whole and floating-point numbers are one kind.
    private init?(elements: NSArray) {
        var values: [RecordValue] = []
        values.reserveCapacity(elements.count)
        for element in elements {
            guard let value = RecordValue(element), value.kind != .list,
                values.first.map({ $0.kind == value.kind }) ?? true
            else { return nil }
            values.append(value)
        }
        self = .list(values)
    }

    /// As `init(_:)`, and stops the program where Apple's framework raises an exception.
    init(checking value: Any) {
        guard let result = RecordValue(value) else {
            raise(
                """
                CKRecord: a value of type \(type(of: value)) is unsupported. A field holds a string, number, date, \
                data, location, reference, asset, or an array whose elements are all of one of those types.
                """)
        }
        self = result
    }

    /// The types that one list can mix.
    private enum Kind {
        case string, number, date, data, location, reference, asset, list, sealed
    }

    private var kind: Kind {
        switch self {
        case .string: .string
        case .bool, .int64, .uint64, .double: .number
        case .date: .date
        case .data: .data
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list: .list
        case .sealed: .sealed
        }
    }

    /// Whether an app could not tell the values apart: a truth value is a number, and an asset is what it is of.
    func isSame(as other: RecordValue) -> Bool {
        switch (self, other) {
        case (.asset(let one), .asset(let two)): one.fileURL == two.fileURL && one.wireValue == two.wireValue
        case (.list(let ones), .list(let twos)):
            ones.count == twos.count && zip(ones, twos).allSatisfy { $0.isSame(as: $1) }
        default:
            self == other
                || kind == .number && other.kind == .number && (object as? NSNumber) == (other.object as? NSNumber)
        }
    }

    /// The assets that the value is or holds.
    var assets: [CKAsset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let values): values.flatMap(\.assets)
        default: []
        }
    }

    /// What Apple's framework hands out where it promises no more than a `CKRecordValueProtocol`: a value of Swift's
    /// own. Whole numbers and truth values are `Int64`.
    var native: any CKRecordValueProtocol {
        switch self {
        case .string(let value): value
        case .bool(let value): Int64(value ? 1 : 0)
        case .int64(let value): value
        case .uint64(let value): value
        case .double(let value): value
        case .date(let value): value
        case .data(let value): value
        case .location(let value): value
        case .reference(let value): value
        case .asset(let value): value
        case .list(let values): values.map(\.native)
        case .sealed(let value): Data(value.bytes)
        }
    }

    /// What Apple's framework hands out: `NSString`, `NSNumber`, `NSDate`, `NSData`, `NSArray`, or a class of ours.
    var object: any __CKRecordObjCValue {
        switch self {
        case .string(let value): NSString(string: value)
        case .bool(let value): NSNumber(value: value)
        case .int64(let value): NSNumber(value: value)
        case .uint64(let value): NSNumber(value: value)
        case .double(let value): NSNumber(value: value)
        case .date(let value): NSDate(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate)
        case .data(let value): NSData(data: value)
        case .location(let value): value
        case .reference(let value): value
        case .asset(let value): value
        case .list(let values): NSArray(array: values.map(\.object))
        case .sealed(let value): NSData(data: Data(value.bytes))
        }
    }
}

extension NSNumber {
    /// Whether this is a truth value and no number; both share one class.
    fileprivate var isBoolean: Bool { self === NSNumber(value: true) || self === NSNumber(value: false) }
}
