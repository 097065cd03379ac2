public import Foundation
import NephosWire

/// The root of the key paths that carry a key's name: Foundation's sort descriptors hold nothing else.
private struct SortKey {
    subscript(key: String) -> String { key }
}

extension NSSortDescriptor {
    /// Sorts by a field, or by a property of records such as `creationDate`.
    public convenience init(key: String?, ascending: Bool) {
        self.init(keyPath: \SortKey.[key ?? ""], ascending: ascending)
    }

    /// The name of what is sorted by; nil where the descriptor was not made with one.
    public var key: String? {
        guard let path = keyPath as? KeyPath<SortKey, String> else { return nil }
        return SortKey()[keyPath: path]
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

/// Sorts records by the distance of a field's location from another one, the nearest first
/// (CKLocationSortDescriptor, Apple's documentation).
open class CKLocationSortDescriptor: NSSortDescriptor, NSSecureCoding {
    /// What distances are measured from; altitude does not count.
    public let relativeLocation: CLLocation

    /// Sorts by the location in the field `key`.
    public init(key: String, relativeLocation: CLLocation) {
        self.relativeLocation = relativeLocation
        super.init(keyPath: \SortKey.[key], ascending: true)
    }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let key = coder.string(forKey: "key"),
            let location = coder.decodeObject(of: CLLocation.self, forKey: "relativeLocation")
        else { return nil }
        relativeLocation = location
        super.init(keyPath: \SortKey.[key], ascending: true)
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: key ?? ""), forKey: "key")
        coder.encode(relativeLocation, forKey: "relativeLocation")
    }

    open override func copy(with zone: NSZone? = nil) -> Any { self }
}
