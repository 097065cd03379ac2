import Foundation
import NephosWire

/// A field's value as a record stores it: an immutable value of one of CloudKit's types.
///
/// Callers receive the value as the Foundation object that Apple's framework returns (`object`).
enum RecordValue: Hashable, Sendable {
    case string(String)
    case bool(Bool)
    case int64(Int64)
    /// An unsigned number above `Int64.max`. The service has no field type for such a number, so it cannot be saved.
    case uint64(UInt64)
    case double(Double)
    case date(Date)
    case data(Data)
    case location(CLLocation)
    case reference(CKRecord.Reference)
    case asset(CKAsset)
    case list([RecordValue])
    /// An encrypted value from the service that is not yet decrypted.
    case sealed(SealedFieldValue)

    /// Copies a value that a caller sets; nil if CloudKit has no field type for the value.
    init?(_ value: Any) {
        switch value {
        case let value as String: self = .string(value)
        // A number can be cast to every Swift type that can represent it, so the type is determined from its
        // `NSNumber`.
        case let value as NSNumber where value.isBoolean: self = .bool(value.boolValue)
        case let value as NSNumber: self.init(number: value)
        // Some builds of Foundation do not bridge CGFloat and Decimal to NSNumber if a value of type Any contains them.
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

    /// Creates a list of single values of one kind; nil if the kinds differ. Integers and floating-point numbers are
    /// one kind.
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

    /// Copies a value as `init(_:)` does. Stops the program if CloudKit has no field type for it, as Apple's framework
    /// raises an exception.
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

    /// The kind of a value. All elements of a list have one kind.
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

    /// Returns whether an app cannot distinguish the two values. A Boolean is the same as its number. Assets are the
    /// same if their files and their values on the wire are the same.
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

    /// The assets in the value: the value itself, or the elements of a list. Empty for other types.
    var assets: [CKAsset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let values): values.flatMap(\.assets)
        default: []
        }
    }

    /// The value in one of Swift's own types: the `CKRecordValueProtocol` that Apple's framework returns. Integers and
    /// Booleans are `Int64`.
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

    /// The value as the object that Apple's framework returns: `NSString`, `NSNumber`, `NSDate`, `NSData`, `NSArray`,
    /// or a class of this library.
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
    /// Whether the number is a Boolean. `NSNumber` represents both Booleans and numbers.
    fileprivate var isBoolean: Bool { self === NSNumber(value: true) || self === NSNumber(value: false) }
}
