import Foundation
import Synchronization

extension CKRecord {
    /// The record's encrypted fields, which are read and set by key.
    ///
    /// This object is a live view: a value set in the view is set in the record. The view's `allKeys()` and
    /// `changedKeys()` return only the keys of encrypted fields.
    public var encryptedValues: any CKRecordKeyValueSetting & Sendable { EncryptedValues(record: self) }
}

/// A live view of a record's encrypted fields.
private final class EncryptedValues: NSObject, CKRecordKeyValueSetting, NSCopying, Sendable {
    private let record: CKRecord

    init(record: CKRecord) {
        self.record = record
    }

    func object(forKey key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? {
        record.state.withLock { state -> RecordValue? in
            guard let field = state.fields[key], field.isEncrypted else { return nil }
            // The values in a share's metadata stay sealed until the account accepts the share.
            if case .sealed = field.value { return nil }
            return field.value
        }?.object
    }

    func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: CKRecord.FieldKey) {
        NameRules.checkFieldKey(key)
        let value = object.map { RecordValue(checking: $0) }
        raise(
            unless: value?.isEncryptable ?? true,
            "CKRecord.encryptedValues: the value of \"\(key)\" is an asset or a reference, which cannot be encrypted.")
        record.state.withLock { $0.set(value, forKey: key, encrypt: true) }
    }

    subscript(key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    func allKeys() -> [CKRecord.FieldKey] {
        record.state.withLock { state in state.fields.keys.filter { state.isEncrypted($0) } }
    }

    func changedKeys() -> [CKRecord.FieldKey] {
        record.state.withLock { state in state.changes.keys.filter { state.isEncrypted($0) }.sorted() }
    }

    func copy(with zone: NSZone? = nil) -> Any { self }

    override var description: String { "<encryptedValues of \(record.recordID); keys=\(allKeys())>" }
}

extension RecordValue {
    /// Whether `encryptedValues` accepts the value. It refuses assets, which are always encrypted, and references,
    /// which the service has to read.
    var isEncryptable: Bool {
        switch self {
        case .asset, .reference: false
        case .list(let values): values.allSatisfy(\.isEncryptable)
        default: true
        }
    }
}
