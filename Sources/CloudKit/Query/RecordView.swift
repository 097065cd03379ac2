import Foundation
import NephosWire
import Synchronization

/// A record in memory, in the form that query conditions read.
struct RecordView: QueryableRecord {
    private let recordType: CKRecord.RecordType
    private let recordID: CKRecord.ID
    private let state: RecordState

    init(_ record: CKRecord) {
        recordType = record.recordType
        recordID = record.recordID
        state = record.state.withLock { $0 }
    }

    var recordName: String { recordID.recordName }
    var zoneID: ZoneIDDictionary { recordID.zoneID.wireValue }

    /// Queries do not see encrypted fields, so this returns nil for them. A name without a field may be a property that
    /// only a record in memory has.
    func value(ofField name: String) -> FieldValue? {
        guard let field = state.fields[name] else { return property(name) }
        return field.isEncrypted ? nil : field.value.wireValue(in: WireContext(zoneID: recordID.zoneID))
    }

    private func property(_ name: String) -> FieldValue? {
        switch name {
        case "recordType": .string(recordType)
        case "recordChangeTag": state.metadata.changeTag.map { .string($0) }
        default: SystemField(property: name).flatMap(value(of:))
        }
    }

    func value(of field: SystemField) -> FieldValue? {
        func user(_ id: CKRecord.ID?) -> FieldValue? {
            id.map { .reference(ReferenceValue(recordName: $0.recordName)) }
        }
        func reference(_ reference: CKRecord.Reference?) -> FieldValue? {
            reference.map { .reference($0.wireValue(inZone: recordID.zoneID)) }
        }
        return switch field {
        case .recordName: .reference(ReferenceValue(recordName: recordName, zoneID: zoneID))
        case .createdTimestamp: state.metadata.creationDate.map { .timestamp(Timestamp($0)) }
        case .modifiedTimestamp: state.metadata.modificationDate.map { .timestamp(Timestamp($0)) }
        case .createdUserRecordName: user(state.metadata.creatorUserRecordID)
        case .modifiedUserRecordName: user(state.metadata.lastModifiedUserRecordID)
        case .share: reference(state.metadata.share)
        case .parent: reference(state.parent)
        }
    }

    var searchableValues: [FieldValue] {
        state.fields.keys.compactMap { name in
            if case .string(let text)? = value(ofField: name) { .string(text) } else { nil }
        }
    }
}
