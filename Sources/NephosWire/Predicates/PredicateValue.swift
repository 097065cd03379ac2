package import FoundationEssentials

/// A constant of a predicate.
package enum PredicateValue: Hashable, Sendable {
    case null
    case string(String)
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case double(Double)
    case date(Date)
    case data(Data)
    case location(LocationValue)
    /// A reference, or a record passed as one. A reference without a zone matches references into any zone.
    case reference(ReferenceValue)
    case recordID(ReferenceValue)
    case asset
    case list([PredicateValue])
    /// A value that no field can hold, represented by the name of its type.
    case unsupported(String)

    /// The value as a number; nil unless it is a number or a Boolean.
    package var number: Double? {
        switch self {
        case .bool(let value): value ? 1 : 0
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The kind of the value for messages, such as "a string".
    package var kind: String {
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
