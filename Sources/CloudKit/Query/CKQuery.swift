public import Foundation
import NephosWire
import Synchronization

/// A search for records, by their type, with a condition and an order (CKQuery, Apple's documentation).
///
/// Queries support only a part of `NSPredicate`. A query with an unsupported part fails with `invalidArguments` when it
/// runs, and the error names that part.
open class CKQuery: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Unchecked, because NSPredicate and NSSortDescriptor are not Sendable: both are immutable, and a lock guards the
    // array of sort descriptors.

    /// The type of the records to find.
    open var recordType: CKRecord.RecordType { type }
    private let type: CKRecord.RecordType
    private let condition: NSPredicate
    /// Whether the predicate may contain operators that Apple's service refuses. `CloudKitExtras` sets it.
    package let isExtended: Bool
    private let order: Mutex<SortOrderBox>

    private struct SortOrderBox: @unchecked Sendable {
        // Unchecked, because NSSortDescriptor is not Sendable: a sort descriptor is immutable.
        var descriptors: [NSSortDescriptor]?
    }

    /// Creates a query for the records of a type that match a predicate.
    public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
        raise(unless: !recordType.isEmpty, "CKQuery: the record type is empty.")
        type = recordType
        condition = predicate
        isExtended = false
        order = Mutex(SortOrderBox(descriptors: nil))
    }

    private init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, sortDescriptors: [NSSortDescriptor]?,
        isExtended: Bool
    ) {
        type = recordType
        condition = predicate
        self.isExtended = isExtended
        order = Mutex(SortOrderBox(descriptors: sortDescriptors))
    }

    /// The condition that records must match.
    open var predicate: NSPredicate { condition }

    /// The order of the results, the most significant descriptor first; nil leaves the order to the service.
    open var sortDescriptors: [NSSortDescriptor]? {
        get { order.withLock { $0 }.descriptors }
        set {
            let box = SortOrderBox(descriptors: newValue)
            order.withLock { $0 = box }
        }
    }

    /// Returns the query in the form for the service.
    /// - Throws: `PredicateRefusal` for a part that queries do not support.
    func wireValue() throws(PredicateRefusal) -> Query {
        var sortBy: [QuerySortDescriptor] = []
        for descriptor in sortDescriptors ?? [] { sortBy.append(try descriptor.wireValue()) }
        let query = try Query(
            recordType: recordType, predicate: predicate.expression, isExtended ? .extended : .cloudKit, sortBy: sortBy)
        if let problem = query.problem {
            throw PredicateRefusal("the query", problem, "give values that can be stored")
        }
        return query
    }

    /// Returns a copy whose predicate may contain `OR`, and `NOT` of any condition.
    package func extendedCopy() -> CKQuery {
        CKQuery(recordType: recordType, predicate: predicate, sortDescriptors: sortDescriptors, isExtended: true)
    }

    // MARK: Copying and archives

    open func copy(with zone: NSZone? = nil) -> Any {
        CKQuery(
            recordType: recordType, predicate: predicate, sortDescriptors: sortDescriptors, isExtended: isExtended)
    }

    open class var supportsSecureCoding: Bool { true }

    private enum Key {
        static let recordType = "RecordType"
        static let isExtended = "NephosExtended"
        static let format = "PredicateFormat"
        static let arguments = "PredicateArguments"
        static let sortKeys = "SortKeys"
        static let sortAscending = "SortAscending"
        static let sortLocations = "SortLocations"
    }

    /// Archives the query. The program stops for a predicate that was made from a block, because such a predicate
    /// cannot be archived.
    open func encode(with coder: NSCoder) {
        guard let predicate = PredicatePrinter.archive(predicate.expression) else {
            raise("CKQuery: a predicate made from a block cannot be archived.")
        }
        coder.encode(NSString(string: recordType), forKey: Key.recordType)
        if isExtended { coder.encode(true, forKey: Key.isExtended) }
        coder.encode(NSString(string: predicate.format), forKey: Key.format)
        coder.encode(NSArray(array: predicate.arguments.map(\.object)), forKey: Key.arguments)
        guard let sortDescriptors else { return }
        coder.encode(NSArray(array: sortDescriptors.map { NSString(string: $0.key ?? "") }), forKey: Key.sortKeys)
        coder.encode(NSArray(array: sortDescriptors.map { NSNumber(value: $0.ascending) }), forKey: Key.sortAscending)
        let locations = sortDescriptors.map { ($0 as? CKLocationSortDescriptor)?.relativeLocation ?? NSNull() }
        coder.encode(NSArray(array: locations), forKey: Key.sortLocations)
    }

    public required init?(coder: NSCoder) {
        let classes: [AnyClass] = [
            NSArray.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, NSNull.self, CLLocation.self,
            CKRecord.Reference.self, CKRecord.ID.self,
        ]
        func list(_ key: String) -> [Any]? {
            guard coder.containsValue(forKey: key) else { return nil }
            return (coder.decodeObject(of: classes, forKey: key) as? NSArray).map(Array.init)
        }
        guard let recordType = coder.string(forKey: Key.recordType), !recordType.isEmpty,
            let format = coder.string(forKey: Key.format),
            let expression = try? PredicateTree(format: format, objects: list(Key.arguments) ?? [])
        else { return nil }
        type = recordType
        condition = .matching(expression)
        isExtended = coder.decodeBool(forKey: Key.isExtended)
        let descriptors = Self.sortDescriptors(
            list(Key.sortKeys), list(Key.sortAscending), list(Key.sortLocations))
        order = Mutex(SortOrderBox(descriptors: descriptors))
    }

    private static func sortDescriptors(_ keys: [Any]?, _ ascending: [Any]?, _ locations: [Any]?) -> [NSSortDescriptor]?
    {
        guard let keys, let ascending, let locations, keys.count == ascending.count, keys.count == locations.count
        else { return nil }
        return keys.indices.compactMap { index in
            guard let key = keys[index] as? String else { return nil }
            if let location = locations[index] as? CLLocation {
                return CKLocationSortDescriptor(key: key, relativeLocation: location)
            }
            return NSSortDescriptor(key: key, ascending: (ascending[index] as? NSNumber)?.boolValue ?? true)
        }
    }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.query.archiverClass }

    open override var description: String {
        let order = (sortDescriptors ?? []).map { "\($0.key ?? "?") \($0.ascending ? "ascending" : "descending")" }
        return "<CKQuery: \(address(of: self)); recordType=\(recordType), "
            + "predicate=\(PredicatePrinter.describe(predicate.expression))"
            + (order.isEmpty ? ">" : ", sortDescriptors=(\(order.joined(separator: ", ")))>")
    }

    open override var debugDescription: String { description }
}
