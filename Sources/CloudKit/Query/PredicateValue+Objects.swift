import Foundation
import NephosWire

// Conversions between the constants of predicates and the objects of programs.

extension PredicateValue {
    /// Creates the value of a format's argument, or of a member of an evaluated object.
    init(_ argument: Any?) {
        guard let argument = Self.unwrapped(argument) else {
            self = .null
            return
        }
        switch argument {
        case is NSNull: self = .null
        case let record as CKRecord: self = .reference(record.recordID.predicateValue)
        case let id as CKRecord.ID: self = .recordID(id.predicateValue)
        case let array as NSArray: self = .list(array.map { PredicateValue($0) })
        case let array as [Any?]: self = .list(array.map { PredicateValue($0) })
        case let set as NSSet: self = .list(set.map { PredicateValue($0) })
        case let set as NSOrderedSet: self = .list(set.map { PredicateValue($0) })
        case let text as Substring: self = .string(String(text))
        default: self = RecordValue(argument).map(PredicateValue.init) ?? .unsupported("\(type(of: argument))")
        }
    }

    /// Returns the value without the optionals around it.
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
        case .location(let value): self = .location(value.wireValue)
        case .reference(let value): self = .reference(value.predicateValue)
        case .asset: self = .asset
        case .sealed: self = .null
        case .list(let values): self = .list(values.map(PredicateValue.init))
        }
    }

    /// The value as an object for archives.
    var object: Any {
        switch self {
        case .null, .asset, .unsupported: NSNull()
        case .string(let value): NSString(string: value)
        case .bool(let value): NSNumber(value: value)
        case .integer(let value): NSNumber(value: value)
        case .unsigned(let value): NSNumber(value: value)
        case .double(let value): NSNumber(value: value)
        case .date(let value): NSDate(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate)
        case .data(let value): NSData(data: value)
        case .location(let value): CLLocation(wire: value)
        case .reference(let value): CKRecord.Reference(predicateValue: value)
        case .recordID(let value): CKRecord.ID(predicateValue: value)
        case .list(let values): NSArray(array: values.map(\.object))
        }
    }
}

extension CKRecord.ID {
    fileprivate var predicateValue: ReferenceValue {
        ReferenceValue(recordName: recordName, zoneID: zoneID.wireValue)
    }

    fileprivate convenience init(predicateValue value: ReferenceValue) {
        self.init(unchecked: value.recordName, zoneID: value.zoneID.map { CKRecordZone.ID(wire: $0) } ?? .default)
    }
}

extension CKRecord.Reference {
    fileprivate var predicateValue: ReferenceValue {
        var value = recordID.predicateValue
        value.action = action == .deleteSelf ? .deleteSelf : .none
        return value
    }

    fileprivate convenience init(predicateValue value: ReferenceValue) {
        self.init(
            recordID: CKRecord.ID(predicateValue: value), action: value.action == .deleteSelf ? .deleteSelf : .none)
    }
}
