public import Foundation
import NephosWire

/// What a record is sorted by, made of a key path: Foundation's sort descriptors hold nothing else, and have no key.
private struct SortValue: Comparable {
    let key: String
    /// What distances are measured from.
    let center: LocationValue?
    let value: FieldValue?

    /// In the order that a query would give.
    static func < (left: SortValue, right: SortValue) -> Bool { left.order(right) < 0 }
    static func == (left: SortValue, right: SortValue) -> Bool { left.order(right) == 0 }

    private func order(_ other: SortValue) -> Int {
        SortOrder.order(value, other.value, by: QuerySortDescriptor(.field(key), relativeLocation: center))
    }
}

extension NSObject {
    fileprivate subscript(sortValueOf key: String, from center: LocationValue?) -> SortValue {
        let record = self as? CKRecord
        // A plain object is asked only for the key.
        raise(
            unless: record != nil || type(of: self) == NSObject.self,
            "A sort descriptor with a key (\"\(key)\") sorts records, and no \(type(of: self)).")
        let value: FieldValue? =
            if let record, let key = try? QueryKey(predicateKey: key) { RecordView(record).value(of: key) } else { nil }
        return SortValue(key: key, center: center, value: value)
    }
}

extension NSSortDescriptor {
    /// Sorts by a field, or by a property of records such as `creationDate`: in a query, and in
    /// `NSArray.sortedArray(using:)` of records, which puts them as a query would.
    public convenience init(key: String?, ascending: Bool) {
        self.init(keyPath: \NSObject[sortValueOf: key ?? "", from: nil], ascending: ascending)
    }

    /// Sorts by one of CloudKit's properties of a record that may be nil, such as `creationDate`. Another property
    /// stops the program, as on Apple's platforms one does that Objective-C does not know.
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

    /// The descriptor as it is sent.
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

/// Not for use by name: it gives sort descriptors their key.
///
/// Foundation's class has a `key` too, which is unavailable. When a subclass is optimised, the compiler looks that one
/// up among the members of the class, and crashes if it finds two.
public protocol _SortKeyed {}

extension NSSortDescriptor: _SortKeyed {}

extension _SortKeyed where Self: NSSortDescriptor {
    /// The name of what is sorted by; nil where the descriptor was not made with one.
    public var key: String? {
        guard let path = keyPath as? KeyPath<NSObject, SortValue> else { return nil }
        return NSObject()[keyPath: path].key
    }
}

/// Sorts records by the distance of a field's location from another one, the nearest first
/// (CKLocationSortDescriptor, Apple's documentation).
open class CKLocationSortDescriptor: NSSortDescriptor, NSSecureCoding {
    /// What distances are measured from; altitude does not count.
    public let relativeLocation: CLLocation

    /// Sorts by the location in the field `key`.
    public init(key: String, relativeLocation: CLLocation) {
        self.relativeLocation = relativeLocation
        super.init(keyPath: \NSObject[sortValueOf: key, from: relativeLocation.wireValue], ascending: true)
    }

    open class var supportsSecureCoding: Bool { true }

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
