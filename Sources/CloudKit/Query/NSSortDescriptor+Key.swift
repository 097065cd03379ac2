public import Foundation
import NephosWire

/// The sort value of a record, which is read through a key path, because Foundation's sort descriptors have a key path
/// but no key here.
private struct SortValue: Comparable {
    let key: String
    /// The location from which distances are measured; nil for a sort by another value.
    let center: LocationValue?
    let value: FieldValue?

    /// Compares two values by the order of a query.
    static func < (left: SortValue, right: SortValue) -> Bool { left.order(right) < 0 }
    static func == (left: SortValue, right: SortValue) -> Bool { left.order(right) == 0 }

    private func order(_ other: SortValue) -> Int {
        SortOrder.order(value, other.value, by: QuerySortDescriptor(.field(key), relativeLocation: center))
    }
}

extension NSObject {
    fileprivate subscript(sortValueOf key: String, from center: LocationValue?) -> SortValue {
        let record = self as? CKRecord
        // Only the property `key` subscripts an object that is not a record.
        raise(
            unless: record != nil || type(of: self) == NSObject.self,
            "A sort descriptor with a key (\"\(key)\") sorts records, and no \(type(of: self)).")
        let value: FieldValue? =
            if let record, let key = try? QueryKey(predicateKey: key) { RecordView(record).value(of: key) } else { nil }
        return SortValue(key: key, center: center, value: value)
    }
}

extension NSSortDescriptor {
    /// Creates a descriptor that sorts by a field, or by a property of records such as `creationDate`. It works in a
    /// query, and in `NSArray.sortedArray(using:)` of records, with the same order.
    public convenience init(key: String?, ascending: Bool) {
        self.init(keyPath: \NSObject[sortValueOf: key ?? "", from: nil], ascending: ascending)
    }

    /// Creates a descriptor that sorts by an optional property of a record that CloudKit defines, such as
    /// `creationDate`. The program stops for any other property, as Apple's platforms do for a property that
    /// Objective-C does not know.
    public convenience init<Value: Comparable>(keyPath: KeyPath<CKRecord, Value?>, ascending: Bool) {
        let key: String? =
            switch keyPath {
            case \CKRecord.creationDate: "creationDate"
            case \CKRecord.modificationDate: "modificationDate"
            case \CKRecord.recordChangeTag: "recordChangeTag"
            default: nil
            }
        guard let key else { raise("NSSortDescriptor: \(keyPath) is no property of CloudKit's.") }
        self.init(key: key, ascending: ascending)
    }

    /// Returns the descriptor in the form for the service.
    /// - Throws: `PredicateRefusal` if the key is missing or unsupported.
    func wireValue() throws(PredicateRefusal) -> QuerySortDescriptor {
        guard let key, !key.isEmpty else {
            throw PredicateRefusal(
                "a sort descriptor", "it names no field", "make it with NSSortDescriptor(key:ascending:)")
        }
        let location = (self as? CKLocationSortDescriptor)?.relativeLocation
        return QuerySortDescriptor(
            try QueryKey(predicateKey: key), ascending: ascending, relativeLocation: location?.wireValue)
    }
}

/// Provides the property `key` of sort descriptors. Code does not name this protocol.
///
/// Foundation's class has a `key` too, which is unavailable. When the compiler optimises a subclass, it looks up that
/// property among the members of the class, and crashes if it finds two.
public protocol _SortKeyed {}

extension NSSortDescriptor: _SortKeyed {}

extension _SortKeyed where Self: NSSortDescriptor {
    /// The key by which the descriptor sorts; nil if the descriptor was made without a key.
    public var key: String? {
        guard let path = keyPath as? KeyPath<NSObject, SortValue> else { return nil }
        return NSObject()[keyPath: path].key
    }
}

/// Sorts records by the distance between a location in a field and another location, the nearest first
/// (CKLocationSortDescriptor, Apple's documentation).
open class CKLocationSortDescriptor: NSSortDescriptor, NSSecureCoding {
    /// The location from which distances are measured. Its altitude is ignored.
    public let relativeLocation: CLLocation

    /// Creates a descriptor that sorts by the location in the field `key`.
    public init(key: String, relativeLocation: CLLocation) {
        self.relativeLocation = relativeLocation
        super.init(keyPath: \NSObject[sortValueOf: key, from: relativeLocation.wireValue], ascending: true)
    }

    open class var supportsSecureCoding: Bool { true }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.locationSortDescriptor.archiverClass(for: self) }

    public required init?(coder: NSCoder) {
        guard let key = coder.string(forKey: "key"),
            let location = coder.decodeObject(of: CLLocation.self, forKey: "relativeLocation")
        else { return nil }
        relativeLocation = location
        super.init(keyPath: \NSObject[sortValueOf: key, from: relativeLocation.wireValue], ascending: true)
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: key ?? ""), forKey: "key")
        coder.encode(relativeLocation, forKey: "relativeLocation")
    }

    open override func copy(with zone: NSZone? = nil) -> Any { self }
}
