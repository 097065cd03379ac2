import Foundation

/// A constant of a predicate.
enum PredicateValue: Hashable, Sendable {
    case null
    case string(String)
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case double(Double)
    case date(Date)
    case data(Data)
    case location(CLLocation)
    /// A reference, or a record that was given in a reference's place.
    case reference(CKRecord.Reference)
    case recordID(CKRecord.ID)
    case asset(CKAsset)
    case list([PredicateValue])
    /// Something that no field can hold, by the name of its type.
    case unsupported(String)

    /// Takes over an argument of a format, or a value of an object that is evaluated.
    init(_ argument: Any?) {
        guard let argument = Self.unwrapped(argument) else {
            self = .null
            return
        }
        switch argument {
        case is NSNull: self = .null
        case let record as CKRecord: self = .reference(CKRecord.Reference(recordID: record.recordID, action: .none))
        case let id as CKRecord.ID: self = .recordID(id)
        case let array as NSArray: self = .list(array.map { PredicateValue($0) })
        case let array as [Any?]: self = .list(array.map { PredicateValue($0) })
        case let set as NSSet: self = .list(set.map { PredicateValue($0) })
        case let set as NSOrderedSet: self = .list(set.map { PredicateValue($0) })
        case let text as Substring: self = .string(String(text))
        default: self = RecordValue(argument).map(PredicateValue.init) ?? .unsupported("\(type(of: argument))")
        }
    }

    /// The value without the optionals around it.
    private static func unwrapped(_ value: Any?) -> Any? {
        guard let value else { return nil }
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return mirror.children.first.flatMap { unwrapped($0.value) }
    }

    init(_ value: RecordValue) {
        switch value {
        case .string(let value): self = .string(value)
        case .bool(let value): self = .bool(value)
        case .int64(let value): self = .integer(value)
        case .uint64(let value): self = .unsigned(value)
        case .double(let value): self = .double(value)
        case .date(let value): self = .date(value)
        case .data(let value): self = .data(value)
        case .location(let value): self = .location(value)
        case .reference(let value): self = .reference(value)
        case .asset(let value): self = .asset(value)
        case .list(let values): self = .list(values.map(PredicateValue.init))
        }
    }

    /// The object that this value stands for, for archives.
    var object: Any {
        switch self {
        case .null, .unsupported: NSNull()
        case .string(let value): NSString(string: value)
        case .bool(let value): NSNumber(value: value)
        case .integer(let value): NSNumber(value: value)
        case .unsigned(let value): NSNumber(value: value)
        case .double(let value): NSNumber(value: value)
        case .date(let value): NSDate(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate)
        case .data(let value): NSData(data: value)
        case .location(let value): value
        case .reference(let value): value
        case .recordID(let value): value
        case .asset(let value): value
        case .list(let values): NSArray(array: values.map(\.object))
        }
    }

    /// Of a number or a truth value: the number.
    var number: Double? {
        switch self {
        case .bool(let value): value ? 1 : 0
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// What the value is, for messages: "a string", ….
    var kind: String {
        switch self {
        case .null: "nil"
        case .string: "a string"
        case .bool, .integer, .unsigned, .double: "a number"
        case .date: "a date"
        case .data: "data"
        case .location: "a location"
        case .reference: "a reference"
        case .recordID: "a record ID"
        case .asset: "an asset"
        case .list: "a list"
        case .unsupported(let type): "a value of type \(type)"
        }
    }
}
