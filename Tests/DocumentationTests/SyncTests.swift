import CloudKit
import CloudKitExtras
import CloudKitLocal
import Foundation
import Testing

/// The code of Documentation/Sync.md.
@Suite struct SyncTests {
    @Test func `changes are fetched by hand`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "shopping", zoneID: zone.zoneID))
        try await database.save(note)
        var copy = Copy()
        try await copy.fetch(zone.zoneID, from: database)
        #expect(copy.records.keys.map(\.recordName) == ["shopping"])

        try await database.deleteRecord(withID: note.recordID)
        try await copy.fetch(zone.zoneID, from: database)
        #expect(copy.records.isEmpty)
    }
}

/// A device's copy of a zone.
struct Copy {
    var records: [CKRecord.ID: CKRecord] = [:]
    var token: CKServerChangeToken?

    mutating func fetch(_ zoneID: CKRecordZone.ID, from database: CKDatabase) async throws {
        while true {
            let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            for (recordID, result) in changes.modificationResultsByID {
                do {
                    records[recordID] = try result.get().record
                } catch let error as CKError where error.code == .zoneBusy {
                    continue  // its key has not arrived: a later fetch from the token brings it
                }
            }
            for deletion in changes.deletions { records[deletion.recordID] = nil }
            token = changes.changeToken  // kept with the records
            if !changes.moreComing { return }
        }
    }
}

/// What an app shows of its sync engine.
func show(_ syncEngine: CKSyncEngine) {
    let status = syncEngine.syncStatus
    if status.pendingChanges > 0 { print("\(status.pendingChanges) changes wait, since \(Int(status.lag)) s") }
    if let error = status.lastError { print("The last sync failed: \(error.localizedDescription)") }
}
