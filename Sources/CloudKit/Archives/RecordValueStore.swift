import Foundation

/// The fields of a record in archives: the class `CKRecordValueStore` of Apple's framework.
class RecordValueStore: NSObject, NSSecureCoding {
    let values: [String: RecordValue]
    let originalValues: [String: RecordValue]
    let changedKeys: Set<String>

    required init(values: [String: RecordValue], originalValues: [String: RecordValue], changedKeys: Set<String>) {
        self.values = values
        self.originalValues = originalValues
        self.changedKeys = changedKeys
    }

    class var supportsSecureCoding: Bool { true }

    required init?(coder: NSCoder) {
        values = Self.decodeValues(from: coder, forKey: ArchiveKey.recordValues)
        originalValues = Self.decodeValues(from: coder, forKey: ArchiveKey.originalValues)
        let keys = coder.object(ofAny: [NSSet.self, NSArray.self, NSString.self], forKey: ArchiveKey.changedKeys)
        changedKeys = Set((keys as? NSSet)?.compactMap { $0 as? String } ?? (keys as? [String]) ?? [])
    }

    func encode(with coder: NSCoder) {
        coder.encode(Self.archived(values), forKey: ArchiveKey.recordValues)
        coder.encode(Self.archived(originalValues), forKey: ArchiveKey.originalValues)
        coder.encode(NSMutableSet(array: changedKeys.sorted()), forKey: ArchiveKey.changedKeys)
    }

    override var classForKeyedArchiver: AnyClass? { ArchivedClass.valueStore.archiverClass }

    private static func decodeValues(from coder: NSCoder, forKey key: String) -> [String: RecordValue] {
        let classes: [AnyClass] = [
            NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, NSNull.self,
            CLLocation.self, CKRecord.Reference.self, CKAsset.self, ArchivedEncryptedData.self,
        ]
        guard let dictionary = coder.object(ofAny: classes, forKey: key) as? NSDictionary else { return [:] }
        var values: [String: RecordValue] = [:]
        for (key, value) in dictionary {
            // Skips values that this library cannot read: a null, or data that only Apple's keys decrypt.
            if let key = key as? String, let value = RecordValue(archived: value) { values[key] = value }
        }
        return values
    }

    private static func archived(_ values: [String: RecordValue]) -> NSMutableDictionary {
        let dictionary = NSMutableDictionary()
        for (key, value) in values { dictionary.setObject(value.archived, forKey: key as NSString) }
        return dictionary
    }
}

/// The encrypted fields of a record in archives: the class `CKEncryptedRecordValueStore` of Apple's framework.
final class EncryptedRecordValueStore: RecordValueStore {
    override var classForKeyedArchiver: AnyClass? { ArchivedClass.encryptedValueStore.archiverClass }
}

/// Data that an Apple device encrypted: the class `CKEncryptedData` of Apple's framework. Decoding it, without
/// decrypting it, makes the rest of its archive readable.
final class ArchivedEncryptedData: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    override init() { super.init() }
    init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) {}
}

extension RecordValue {
    /// The object that represents the value in an archive.
    fileprivate var archived: NSObject {
        switch self {
        case .string(let value): value as NSString
        case .bool(let value): NSNumber(value: value)
        case .int64(let value): NSNumber(value: value)
        case .uint64(let value): NSNumber(value: value)
        case .double(let value): NSNumber(value: value)
        case .date(let value): value as NSDate
        case .data(let value): value as NSData
        case .location(let value): value
        case .reference(let value): value
        case .asset(let value): value
        case .list(let values): NSArray(array: values.map(\.archived))
        case .sealed: ArchivedEncryptedData()
        }
    }

    fileprivate init?(archived object: Any) {
        if let elements = object as? NSArray {
            self = .list(elements.compactMap { RecordValue(archived: $0) })
        } else {
            self.init(object)
        }
    }
}
