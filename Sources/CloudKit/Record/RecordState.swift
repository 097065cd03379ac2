import Foundation

/// The service's metadata of a record, besides its fields.
struct RecordMetadata: Sendable {
    /// Nil until the record was saved or fetched.
    var changeTag: String?
    var creationDate: Date?
    var creatorUserRecordID: CKRecord.ID?
    var modificationDate: Date?
    var lastModifiedUserRecordID: CKRecord.ID?
    var modifiedByDevice: String?
    var share: CKRecord.Reference?
    /// Whether the record exists, or existed, on the service.
    var isKnownToServer = false
}

/// A field of a record.
struct RecordField: Hashable, Sendable {
    var value: RecordValue
    /// Whether the value was set or received through `encryptedValues`.
    var isEncrypted: Bool
}

/// The mutable part of a record. It is a value, so a copy is a snapshot.
struct RecordState: Sendable {
    var metadata = RecordMetadata()
    private(set) var fields = FieldTable([])
    private(set) var parent: CKRecord.Reference?
    /// The fields and the parent as they were last fetched or saved.
    private(set) var originalFields = FieldTable([])
    private(set) var originalParent: CKRecord.Reference?
    /// The value of `changeCount` at each key's last change since then.
    private(set) var changes: [CKRecord.FieldKey: UInt64] = [:]
    /// The keys without a value that were removed through `encryptedValues`, or whose removed value was encrypted.
    private var encryptedRemovals: Set<CKRecord.FieldKey> = []
    private(set) var parentChange: UInt64?
    private var changeCount: UInt64 = 0

    init() {}

    /// A record as received from the service: unchanged.
    init(metadata: RecordMetadata, fields: FieldTable, parent: CKRecord.Reference? = nil) {
        self.metadata = metadata
        self.fields = fields
        self.parent = parent
        originalFields = fields
        originalParent = parent
    }

    /// Creates the state of an archived record. `changedKeys` has all changed keys, `changedEncryptedKeys` those of
    /// encrypted fields.
    init(
        metadata: RecordMetadata, fields: FieldTable, originalFields: FieldTable, changedKeys: Set<CKRecord.FieldKey>,
        changedEncryptedKeys: Set<CKRecord.FieldKey>, parent: CKRecord.Reference?, originalParent: CKRecord.Reference?,
        isParentChanged: Bool
    ) {
        self.metadata = metadata
        self.fields = fields
        self.originalFields = originalFields
        self.parent = parent
        self.originalParent = originalParent
        changes = Dictionary(uniqueKeysWithValues: changedKeys.map { ($0, 0) })
        encryptedRemovals = changedEncryptedKeys.filter { fields[$0] == nil }
        parentChange = isParentChanged ? 0 : nil
    }

    /// Sets or removes a field. An encrypted field stays encrypted if its new value can be encrypted.
    mutating func set(_ value: RecordValue?, forKey key: CKRecord.FieldKey, encrypt: Bool) {
        let wasEncrypted = fields[key]?.isEncrypted ?? false
        fields[key] = value.map { RecordField(value: $0, isEncrypted: encrypt || (wasEncrypted && $0.isEncryptable)) }
        // Removing a field that the record lacks counts as a change, because the service may have the field. The same
        // goes for a record that was never saved: it can replace an existing one (`RecordSavePolicy.changedKeys`).
        changeCount += 1
        changes[key] = changeCount
        if value == nil && (encrypt || wasEncrypted) {
            encryptedRemovals.insert(key)
        } else {
            encryptedRemovals.remove(key)
        }
    }

    mutating func setParent(_ parent: CKRecord.Reference?) {
        self.parent = parent
        changeCount += 1
        parentChange = metadata.isKnownToServer || parent != nil ? changeCount : nil
    }

    /// Makes `saved`, an earlier state of this record, the service's version. Later changes still count as changes.
    mutating func markSaved(as saved: RecordState) {
        originalFields = saved.fields
        originalParent = saved.parent
        changes = changes.filter { $0.value > saved.changeCount }
        if let change = parentChange, change <= saved.changeCount { parentChange = nil }
    }

    /// Replaces the sealed values that were received by their plaintext.
    mutating func open(_ values: [(key: CKRecord.FieldKey, value: RecordValue)]) {
        for (key, value) in values { fields[key] = RecordField(value: value, isEncrypted: true) }
        originalFields = fields
    }

    /// The record as it was last fetched or saved.
    var original: RecordState {
        RecordState(metadata: metadata, fields: originalFields, parent: originalParent)
    }

    /// Returns the fields sorted by key.
    func sortedFields(where isIncluded: (RecordField) -> Bool = { _ in true }) -> [(key: String, value: RecordValue)] {
        fields.filter { isIncluded($0.value) }.map { ($0.key, $0.value.value) }
    }

    /// Whether the key's field is encrypted, or was encrypted before its removal.
    func isEncrypted(_ key: CKRecord.FieldKey) -> Bool {
        (fields[key] ?? originalFields[key])?.isEncrypted ?? encryptedRemovals.contains(key)
    }
}
