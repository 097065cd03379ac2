import CloudKitLocal
import Foundation
import NephosService
import NephosWire
import Testing

@testable import CloudKit

/// A cloud in memory, and what its service itself has of encrypted values.
struct EncryptedCloud {
    let cloud: LocalCloud
    static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    init(_ cloud: LocalCloud? = nil) throws {
        self.cloud = try cloud ?? LocalCloud()
    }

    /// A device of the account's, with a memory of its own.
    func device(_ account: String = "mei") -> CKDatabase { cloud.container(account: account).privateCloudDatabase }

    func makingZone() async throws -> EncryptedCloud {
        _ = try await device().save(CKRecordZone(zoneID: Self.zoneID))
        return self
    }

    static func recordID(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    /// A record with encrypted fields, in the custom zone.
    static func note(_ name: String, _ values: [String: any CKRecordValueProtocol]) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: recordID(name))
        for (key, value) in values { record.encryptedValues[key] = value as? any CKRecordValue }
        return record
    }

    // MARK: The service's side

    private var raw: any CloudService { cloud.container(account: "mei").session.service }
    private static let call = ServiceCall(scope: .private)
    private static let wireZone = ZoneIDDictionary(zoneName: zoneID.zoneName)

    /// What the service has in a record's fields.
    func stored(_ name: String) async throws -> RecordFields {
        let answer = try await raw.send(
            .lookupRecords, LookupRecordsRequest(records: [.init(recordName: name)], zoneID: Self.wireZone), Self.call)
        guard case .record(let record)? = answer.records.first else { return RecordFields() }
        return try record.fields.decoded()
    }

    /// Writes into a record's fields as a client does that knows nothing of keys, or a hostile service.
    func overwrite(_ name: String, _ fields: [String: FieldValue]) async throws -> RecordResult? {
        let entries = fields.map { RecordFields.Entry(name: $0.key, field: Field($0.value, isEncrypted: true)) }
        let request = ModifyRecordsRequest(
            operations: [
                RecordOperation(
                    operationType: .forceUpdate,
                    record: RecordToModify(recordName: name, recordType: "Note", fields: RecordFields(entries)))
            ], zoneID: Self.wireZone, wantsServerRecord: true)
        return try await raw.send(.modifyRecords, request, Self.call).records.first
    }

    func sealed(_ name: String, _ field: String) async throws -> SealedFieldValue {
        guard case .sealed(let sealed)? = try await stored(name)[field]?.value else {
            Issue.record("field \(field) of \(name) is not encrypted in the service")
            return SealedFieldValue(type: .string, bytes: [])
        }
        return sealed
    }
}
