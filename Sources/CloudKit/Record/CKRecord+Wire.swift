package import NephosWire
import Synchronization

/// Which of a record's fields a save sends.
package enum FieldSelection: Sendable {
    /// Those that changed since the record was last saved or fetched.
    case changed
    /// All that the record has, and what was removed from it.
    case all
}

/// A record at one moment, for a save that goes on while the app may change the record.
package struct RecordSnapshot: Sendable {
    package let recordType: CKRecord.RecordType
    package let recordID: CKRecord.ID
    let state: RecordState
    let share: ShareToModify?

    package var recordChangeTag: String? { state.metadata.changeTag }

    /// The fields to send. A field that was removed has the value nil. Assets are sent as they were uploaded; those
    /// that were not are left out.
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

    /// Why a field that would be sent cannot be kept as it is; nil where all can.
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

    /// What to do with the parent: keep it where only changes are sent and it did not change.
    package func parentToSend(_ selection: FieldSelection) -> ReferenceChange {
        if let parent = state.parent, selection == .all || state.parentChange != nil {
            return .set(parent.wireValue(inZone: recordID.zoneID))
        }
        return state.parentChange == nil ? .keep : .clear
    }
}

extension CKRecord {
    /// The record as it is now.
    package func snapshot() -> RecordSnapshot {
        RecordSnapshot(recordType: recordType, recordID: recordID, state: state.withLock { $0 }, share: shareToSend())
    }

    /// As `RecordSnapshot.fieldsToSend(_:)`, of the record as it is now.
    package func fieldsToSend(_ selection: FieldSelection) -> RecordFields {
        snapshot().fieldsToSend(selection)
    }

    /// The record as it was last fetched or saved: without fields where it never was. Its type is that of the record.
    package func ancestorRecord() -> CKRecord {
        record(with: state.withLock { $0.original })
    }

    /// Takes over what the service said about the record that it saved; fields stay as they are.
    ///
    /// `snapshot` is what was sent: what the app changed since then still counts as changed. Without one, nothing does.
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

    /// A record that came from the service: a `CKShare` where it is one.
    ///
    /// - Parameters:
    ///   - wire: the record, of whose `fields` nothing is read.
    ///   - zoneID: the zone that was asked, for a record that does not name its own.
    ///   - fields: the decoded fields: all, or the desired ones.
    ///   - currentUserRecordName: the user whom our side calls `CKCurrentUserDefaultName`.
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

    /// The same, of a record whose ID is known; other records of the answer share the IDs of `users`.
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
