import Foundation

/// The service's metadata of a record: all but its fields.
struct RecordMetadata: Sendable {
    /// The record's change tag; nil until the record was saved or fetched.
    var changeTag: String?
    var creationDate: Date?
    var creatorUserRecordID: CKRecord.ID?
    var modificationDate: Date?
    var lastModifiedUserRecordID: CKRecord.ID?
    var modifiedByDevice: String?
    var share: CKRecord.Reference?
    /// Whether the record exists, or formerly existed, on the service.
    var isKnownToServer = false
}

/// A field of a record.
struct RecordField: Hashable, Sendable {
    var value: RecordValue
    /// Whether the value was set or received through `encryptedValues`.
    var isEncrypted: Bool
}

/// The mutable state of a record. It is a value type, so a copy is a snapshot.
struct RecordState: Sendable {
    var metadata = RecordMetadata()
    private(set) var fields = FieldTable([])
    private(set) var parent: CKRecord.Reference?
    /// The record's fields when it was last fetched or saved. `originalParent` is its parent at that time.
    private(set) var originalFields = FieldTable([])
    private(set) var originalParent: CKRecord.Reference?
    /// The changed keys, each with the value of `changeCount` at its last change since the last fetch or save.
    private(set) var changes: [CKRecord.FieldKey: UInt64] = [:]
    /// The keys of removed encrypted fields: those removed through `encryptedValues`, and those whose removed value was
    /// encrypted.
    private var encryptedRemovals: Set<CKRecord.FieldKey> = []
    private(set) var parentChange: UInt64?
    private var changeCount: UInt64 = 0

    init() {}

    /// Creates the state of a record received from the service, without changes.
    init(metadata: RecordMetadata, fields: FieldTable, parent: CKRecord.Reference? = nil) {
        self.metadata = metadata
        self.fields = fields
        self.parent = parent
        originalFields = fields
        originalParent = parent
    }

    /// Creates the state of an archived record. `changedKeys` contains all changed keys, and `changedEncryptedKeys`
    /// those of encrypted fields.
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

    /// Sets a field; nil removes it. An encrypted field stays encrypted if its new value can be encrypted.
    mutating func set(_ value: RecordValue?, forKey key: CKRecord.FieldKey, encrypt: Bool) {
        let wasEncrypted = fields[key]?.isEncrypted ?? false
        fields[key] = value.map { RecordField(value: $0, isEncrypted: encrypt || (wasEncrypted && $0.isEncryptable)) }
        // Removing a field that the record lacks counts as a change, because the record on the service can have the
        // field. So does removing a field from a record that was never saved, because that record can replace an
        // existing one (`RecordSavePolicy.changedKeys`).
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

    /// Makes `saved`, an earlier state of this record, the last saved state. Changes after it still count as changes.
    mutating func markSaved(as saved: RecordState) {
        originalFields = saved.fields
        originalParent = saved.parent
        changes = changes.filter { $0.value > saved.changeCount }
        if let change = parentChange, change <= saved.changeCount { parentChange = nil }
    }

    /// Replaces received sealed values by their plaintext.
    mutating func open(_ values: [(key: CKRecord.FieldKey, value: RecordValue)]) {
        for (key, value) in values { fields[key] = RecordField(value: value, isEncrypted: true) }
        originalFields = fields
    }

    /// The state of the record when it was last fetched or saved, without changes.
    var original: RecordState {
        RecordState(metadata: metadata, fields: originalFields, parent: originalParent)
    }

    /// Returns the fields for which `isIncluded` returns true, sorted by key.
    func sortedFields(where isIncluded: (RecordField) -> Bool = { _ in true }) -> [(key: String, value: RecordValue)] {
        fields.filter { isIncluded($0.value) }.map { ($0.key, $0.value.value) }
    }

    /// Returns whether the key's field is encrypted, or was encrypted before its removal.
    func isEncrypted(_ key: CKRecord.FieldKey) -> Bool {
        (fields[key] ?? originalFields[key])?.isEncrypted ?? encryptedRemovals.contains(key)
    }
}
