import Foundation

/// The part of key-value coding that apps use with records. On Apple's platforms the Objective-C runtime provides it;
/// this platform lacks that runtime.
extension CKRecord {
    /// Sets a field. Sets the parent for the key "parent". Nil and `NSNull` remove the field or the parent.
    public func setValue(_ value: Any?, forKey key: String) {
        let value = value is NSNull ? nil : value
        if key == "parent", value == nil || value is CKRecord.Reference {
            parent = value as? CKRecord.Reference
        } else {
            setObject(value.map { RecordValue(checking: $0).object }, forKey: key)
        }
    }

    /// Returns the value of a field, or of a property with the key as its name (`recordID`, `creationDate`, …); nil if
    /// there is no value.
    public func value(forKey key: String) -> Any? {
        switch key {
        case "recordID": recordID
        case "recordType": recordType
        case "recordChangeTag": recordChangeTag
        case "creationDate": creationDate
        case "creatorUserRecordID": creatorUserRecordID
        case "modificationDate": modificationDate
        case "lastModifiedUserRecordID": lastModifiedUserRecordID
        default: object(forKey: key) ?? hierarchyValue(forKey: key)
        }
    }

    /// Returns the value at a key path; nil if there is none. The first key is a key of `value(forKey:)`. Later keys
    /// can be `recordID` of a reference, `recordName` and `zoneID` of a record ID, and `zoneName` and `ownerName` of a
    /// zone ID.
    public func value(forKeyPath keyPath: String) -> Any? {
        var keys = keyPath.split(separator: ".").map(String.init)[...]
        guard let first = keys.popFirst() else { return nil }
        return keys.reduce(value(forKey: first)) { value, key in
            switch (value, key) {
            case (let reference as CKRecord.Reference, "recordID"): reference.recordID
            case (let id as CKRecord.ID, "recordName"): id.recordName
            case (let id as CKRecord.ID, "zoneID"): id.zoneID
            case (let id as CKRecordZone.ID, "zoneName"): id.zoneName
            case (let id as CKRecordZone.ID, "ownerName"): id.ownerName
            default: nil
            }
        }
    }

    /// Sets the value of each key in the dictionary as `setValue(_:forKey:)` does.
    public func setValuesForKeys(_ keyedValues: [String: Any]) {
        for (key, value) in keyedValues { setValue(value, forKey: key) }
    }

    /// Returns the values of the keys. The value is `NSNull` for a key without a value.
    public func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }, uniquingKeysWith: { first, _ in first })
    }

    private func hierarchyValue(forKey key: String) -> Any? {
        switch key {
        case "parent": parent
        case "share": share
        default: nil
        }
    }
}
