import Foundation

/// What the service keeps about a record beside its fields.
struct RecordMetadata: Sendable {
    /// Nil until the record was saved or fetched.
    var changeTag: String?
    var creationDate: Date?
    var creatorUserRecordID: CKRecord.ID?
    var modificationDate: Date?
    var lastModifiedUserRecordID: CKRecord.ID?
    var modifiedByDevice: String?
    var share: CKRecord.Reference?
    /// Whether the service has, or had, this record.
    var isKnownToServer = false
}

/// A field of a record.
struct RecordField: Hashable, Sendable {
    var value: RecordValue
    /// Whether it was set, or came, through `encryptedValues`.
    var isEncrypted: Bool
}

/// The part of a record that changes, as a value: a copy is the record at one moment.
struct RecordState: Sendable {
    var metadata = RecordMetadata()
    private(set) var fields = FieldTable([])
    private(set) var parent: CKRecord.Reference?
    /// The fields and the parent as they were last fetched or saved.
    private(set) var originalFields = FieldTable([])
    private(set) var originalParent: CKRecord.Reference?
    /// When each key changed since then, counted in changes of this record.
    private(set) var changes: [CKRecord.FieldKey: UInt64] = [:]
    /// The keys without a value that were removed through `encryptedValues`, or had an encrypted one.
    private var encryptedRemovals: Set<CKRecord.FieldKey> = []
    private(set) var parentChange: UInt64?
    private var changeCount: UInt64 = 0

    /// A record that has no fields.
    init() {}

    /// A record as the service has it: nothing changed.
    init(metadata: RecordMetadata, fields: FieldTable, parent: CKRecord.Reference? = nil) {
        self.metadata = metadata
        self.fields = fields
        self.parent = parent
        originalFields = fields
        originalParent = parent
    }

    /// A record as an archive has it: `changedKeys` are all of them, `changedEncryptedKeys` those of encrypted fields.
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

    /// Gives a field a value, or removes it. A field that is encrypted stays so while its value can be.
    mutating func set(_ value: RecordValue?, forKey key: CKRecord.FieldKey, encrypt: Bool) {
        let wasEncrypted = fields[key]?.isEncrypted ?? false
        fields[key] = value.map { RecordField(value: $0, isEncrypted: encrypt || (wasEncrypted && $0.isEncryptable)) }
        // To remove what the record does not have is a change too: the service may have it. That goes for a record that
        // was never saved as well, as it can be saved over one that exists (`RecordSavePolicy.changedKeys`).
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

    /// Takes what was saved (`saved`, an earlier state of this record) for the record as the service has it; what
    /// changed since stays changed.
    mutating func markSaved(as saved: RecordState) {
        originalFields = saved.fields
        originalParent = saved.parent
        changes = changes.filter { $0.value > saved.changeCount }
        if let change = parentChange, change <= saved.changeCount { parentChange = nil }
    }

    /// Puts what encrypted fields hold in the place of what came from the service.
    mutating func open(_ values: [(key: CKRecord.FieldKey, value: RecordValue)]) {
        for (key, value) in values { fields[key] = RecordField(value: value, isEncrypted: true) }
        originalFields = fields
    }

    /// The record as it was last fetched or saved.
    var original: RecordState {
        RecordState(metadata: metadata, fields: originalFields, parent: originalParent)
    }

    /// The fields in the order of their keys.
    func sortedFields(where isIncluded: (RecordField) -> Bool = { _ in true }) -> [(key: String, value: RecordValue)] {
        fields.filter { isIncluded($0.value) }.map { ($0.key, $0.value.value) }
    }

    /// Whether the key's field is encrypted, or was before it was removed.
    func isEncrypted(_ key: CKRecord.FieldKey) -> Bool {
        (fields[key] ?? originalFields[key])?.isEncrypted ?? encryptedRemovals.contains(key)
    }
}
