import Foundation

/// The content of a record in keyed archives, under the keys of Apple's framework.
struct RecordArchive {
    var recordType: CKRecord.RecordType
    var recordID: CKRecord.ID
    var state: RecordState

    init(recordType: CKRecord.RecordType, recordID: CKRecord.ID, state: RecordState) {
        self.recordType = recordType
        self.recordID = recordID
        self.state = state
    }

    /// Decodes a record's content; nil if the archive lacks a record type or a record ID.
    init?(coder: NSCoder) {
        guard let recordType = coder.string(forKey: ArchiveKey.recordType), !recordType.isEmpty,
            let recordID = coder.object(of: CKRecord.ID.self, forKey: ArchiveKey.recordID)
        else { return nil }
        self.recordType = recordType
        self.recordID = recordID

        let plain = coder.object(of: RecordValueStore.self, forKey: ArchiveKey.valueStore)
        let encrypted = coder.object(of: RecordValueStore.self, forKey: ArchiveKey.encryptedValueStore)
        func merged(_ plain: [String: RecordValue]?, _ encrypted: [String: RecordValue]?) -> FieldTable {
            FieldTable(
                (plain ?? [:]).mapValues { RecordField(value: $0, isEncrypted: false) }
                    .merging((encrypted ?? [:]).mapValues { RecordField(value: $0, isEncrypted: true) }) { $1 })
        }
        let parent = coder.object(of: CKRecord.Reference.self, forKey: ArchiveKey.parentReference)
        let isParentChanged = coder.decodeBool(forKey: ArchiveKey.hasUpdatedParentReference)
        state = RecordState(
            metadata: RecordMetadata(coder: coder), fields: merged(plain?.values, encrypted?.values),
            originalFields: merged(plain?.originalValues, encrypted?.originalValues),
            changedKeys: (plain?.changedKeys ?? []).union(encrypted?.changedKeys ?? []),
            changedEncryptedKeys: encrypted?.changedKeys ?? [], parent: parent,
            originalParent: isParentChanged
                ? coder.object(of: CKRecord.Reference.self, forKey: ArchiveKey.previousParentReference) : parent,
            isParentChanged: isParentChanged)
    }

    func encodeSystemFields(with coder: NSCoder) {
        let metadata = state.metadata
        coder.encode(recordType as NSString, forKey: ArchiveKey.recordType)
        coder.encode(recordID, forKey: ArchiveKey.recordID)
        coder.encode(metadata.changeTag as NSString?, forKey: ArchiveKey.changeTag)
        coder.encode(metadata.creationDate as NSDate?, forKey: ArchiveKey.creationDate)
        coder.encode(metadata.modificationDate as NSDate?, forKey: ArchiveKey.modificationDate)
        coder.encode(metadata.creatorUserRecordID, forKey: ArchiveKey.creatorUserRecordID)
        coder.encode(metadata.lastModifiedUserRecordID, forKey: ArchiveKey.lastModifiedUserRecordID)
        coder.encode(metadata.modifiedByDevice as NSString?, forKey: ArchiveKey.modifiedByDevice)
        coder.encode(state.parent, forKey: ArchiveKey.parentReference)
        coder.encode(state.originalParent, forKey: ArchiveKey.previousParentReference)
        coder.encode(state.parentChange != nil, forKey: ArchiveKey.hasUpdatedParentReference)
        coder.encode(metadata.share, forKey: ArchiveKey.shareReference)
        coder.encode(metadata.isKnownToServer, forKey: ArchiveKey.knownToServer)
    }

    func encodeFields(with coder: NSCoder) {
        coder.encode(valueStore(encrypted: false), forKey: ArchiveKey.valueStore)
        coder.encode(valueStore(encrypted: true), forKey: ArchiveKey.encryptedValueStore)
    }

    private func valueStore(encrypted: Bool) -> RecordValueStore {
        func values(_ fields: FieldTable) -> [String: RecordValue] {
            Dictionary(
                uniqueKeysWithValues: fields.lazy.filter { $0.value.isEncrypted == encrypted }
                    .map { ($0.key, $0.value.value) })
        }
        return (encrypted ? EncryptedRecordValueStore.self : RecordValueStore.self).init(
            values: values(state.fields), originalValues: values(state.originalFields),
            changedKeys: Set(state.changes.keys.filter { state.isEncrypted($0) == encrypted }))
    }
}

extension RecordMetadata {
    fileprivate init(coder: NSCoder) {
        changeTag = coder.string(forKey: ArchiveKey.changeTag)
        creationDate = coder.date(forKey: ArchiveKey.creationDate)
        modificationDate = coder.date(forKey: ArchiveKey.modificationDate)
        creatorUserRecordID = coder.object(of: CKRecord.ID.self, forKey: ArchiveKey.creatorUserRecordID)
        lastModifiedUserRecordID = coder.object(of: CKRecord.ID.self, forKey: ArchiveKey.lastModifiedUserRecordID)
        modifiedByDevice = coder.string(forKey: ArchiveKey.modifiedByDevice)
        share = coder.object(of: CKRecord.Reference.self, forKey: ArchiveKey.shareReference)
        isKnownToServer = changeTag != nil || coder.decodeBool(forKey: ArchiveKey.knownToServer)
    }
}
