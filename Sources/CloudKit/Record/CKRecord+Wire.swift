package import NephosWire
import Synchronization

/// The fields of a record that a save sends.
package enum FieldSelection: Sendable {
    /// The fields that changed since the record was last saved or fetched.
    case changed
    /// All fields of the record, and the fields that were removed.
    case all
}

/// A snapshot of a record. A save sends the snapshot, so the app can change the record meanwhile.
package struct RecordSnapshot: Sendable {
    package let recordType: CKRecord.RecordType
    package let recordID: CKRecord.ID
    let state: RecordState
    let share: ShareToModify?

    package var recordChangeTag: String? { state.metadata.changeTag }

    /// Returns the fields to send. A removed field has the value nil. An asset is sent as the value of its upload, and
    /// an asset without an upload is omitted.
    func fieldsToSend(_ selection: FieldSelection, uploaded: [AssetSlot: AssetValue] = [:]) -> RecordFields {
        var keys = Set(state.changes.keys)
        if selection == .all { keys.formUnion(state.fields.keys) }
        let context = WireContext(zoneID: recordID.zoneID)
        var result = RecordFields()
        for key in keys.sorted() {
            let isEncrypted = state.isEncrypted(key)
            guard let field = state.fields[key] else {
                result[key] = Field(nil, isEncrypted: isEncrypted)
                continue
            }
            guard
                let value = field.value.wireValue(
                    in: context, AssetPlace(recordID: recordID, key: key), uploaded)
            else { continue }
            result[key] = Field(value, isEncrypted: isEncrypted)
        }
        return result
    }

    /// Returns the reason why the service cannot store a field to send, or the name of the share; nil if there is none.
    func problem(_ selection: FieldSelection) -> String? {
        let sharedAs = [share?.forRecord == nil ? nil : recordID, state.metadata.share?.recordID]
        if sharedAs.contains(where: { $0?.recordName == CKRecordNameZoneWideShare }) {
            return
                "record '\(recordID.recordName)': '\(CKRecordNameZoneWideShare)' is the name of the share of a whole zone, which"
                + " has no root: give the share another shareID, or make it with init(recordZoneID:)"
        }
        for (key, value) in state.sortedFields() where selection == .all || state.changes[key] != nil {
            if let problem = value.problem { return "record '\(recordID.recordName)': field '\(key)': \(problem)" }
        }
        return nil
    }

    /// Returns the change of the parent to send. If only changes are sent and the parent did not change, returns
    /// `.keep`.
    package func parentToSend(_ selection: FieldSelection) -> ReferenceChange {
        if let parent = state.parent, selection == .all || state.parentChange != nil {
            return .set(parent.wireValue(inZone: recordID.zoneID))
        }
        return state.parentChange == nil ? .keep : .clear
    }
}

extension CKRecord {
    /// Returns a snapshot of the record's current state.
    package func snapshot() -> RecordSnapshot {
        RecordSnapshot(recordType: recordType, recordID: recordID, state: state.withLock { $0 }, share: shareToSend())
    }

    /// Returns the fields to send from the record's current state, as `RecordSnapshot.fieldsToSend(_:)` does.
    package func fieldsToSend(_ selection: FieldSelection) -> RecordFields {
        snapshot().fieldsToSend(selection)
    }

    /// Returns the record as last fetched or saved, with this record's type. It has no fields if the record was never
    /// fetched or saved.
    package func ancestorRecord() -> CKRecord {
        record(with: state.withLock { $0.original })
    }

    /// Adopts the service's metadata of a saved record. The fields stay unchanged.
    ///
    /// `snapshot` is the state that was sent: changes that the app made after it still count as changes. If `snapshot`
    /// is nil, no field counts as changed.
    package func absorb(
        saved: RecordDictionary, of snapshot: RecordSnapshot? = nil, currentUserRecordName: String? = nil
    ) {
        absorb(saved: saved, of: snapshot, WireUsers(currentUserRecordName: currentUserRecordName))
    }

    func absorb(saved: RecordDictionary, of snapshot: RecordSnapshot?, _ users: WireUsers) {
        let metadata = RecordMetadata(wire: saved, zoneID: recordID.zoneID, users)
        absorb(share: saved.shareDetails, users)
        state.withLock { state in
            state.metadata = metadata
            state.markSaved(as: snapshot?.state ?? state)
        }
    }

    /// Creates a record from the service's record dictionary. The record of a share is a `CKShare`.
    ///
    /// - Parameters:
    ///   - wire: the record dictionary, whose `fields` are ignored.
    ///   - zoneID: the zone of the request, for a record that names no zone.
    ///   - fields: the decoded fields, either all or the desired ones.
    ///   - currentUserRecordName: the record name of the user whom this library calls `CKCurrentUserDefaultName`.
    package static func record(
        wire: RecordDictionary, zoneID: CKRecordZone.ID = .default, fields: RecordFields,
        currentUserRecordName: String? = nil
    ) -> CKRecord {
        let zoneID =
            wire.zoneID.map { CKRecordZone.ID(wire: $0, currentUserRecordName: currentUserRecordName) } ?? zoneID
        return record(
            wire: wire, recordID: CKRecord.ID(unchecked: wire.recordName, zoneID: zoneID), fields: fields,
            WireUsers(currentUserRecordName: currentUserRecordName))
    }

    /// Creates a record with a known ID. `users` is the cache of user IDs for all records of one answer.
    static func record(
        wire: RecordDictionary, recordID: CKRecord.ID, fields: RecordFields, _ users: WireUsers
    ) -> CKRecord {
        let zoneID = recordID.zoneID
        let user = users.currentUserRecordName
        let state = RecordState(
            metadata: RecordMetadata(wire: wire, zoneID: zoneID, users),
            fields: fields.table(in: WireContext(zoneID: zoneID, currentUserRecordName: user)),
            parent: wire.parent.map { CKRecord.Reference(wire: $0, inZone: zoneID, currentUserRecordName: user) })
        return wire.recordType == SystemType.share
            ? CKShare(
                recordID: recordID, state: state,
                shareState: wire.shareDetails.map { CKShare.ShareState(wire: $0, shareID: recordID, users) }
                    ?? CKShare.ShareState())
            : CKRecord(recordType: wire.recordType, recordID: recordID, state: state)
    }
}

extension RecordMetadata {
    fileprivate init(wire: RecordDictionary, zoneID: CKRecordZone.ID, _ users: WireUsers) {
        changeTag = wire.recordChangeTag
        creationDate = wire.created.map { Timestamp(milliseconds: $0.timestamp).date }
        creatorUserRecordID = wire.created.map { users.id($0.userRecordName) }
        modificationDate = wire.modified.map { Timestamp(milliseconds: $0.timestamp).date }
        lastModifiedUserRecordID = wire.modified.map { users.id($0.userRecordName) }
        let device = wire.modified?.deviceID
        modifiedByDevice = device == TimestampDictionary.anyDevice ? nil : device
        share = wire.share.map {
            CKRecord.Reference(wire: $0, inZone: zoneID, currentUserRecordName: users.currentUserRecordName)
        }
        isKnownToServer = true
    }
}

extension RecordFields {
    func table(in context: WireContext) -> FieldTable {
        var fields: [FieldTable.Element] = []
        fields.reserveCapacity(count)
        for entry in entries {
            guard let value = entry.field.value else { continue }
            fields.append(
                (
                    entry.name,
                    RecordField(value: RecordValue(wire: value, in: context), isEncrypted: entry.field.isEncrypted)
                ))
        }
        return FieldTable(fields)
    }
}
