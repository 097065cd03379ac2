import Foundation
import Synchronization
import Testing

@testable import CloudKit

extension FixtureClient {
    /// Writes the files of a device that has fetched everything, and then missed a change.
    mutating func makeFiles(_ database: CKDatabase, in files: URL) async throws {
        try FileManager.default.createDirectory(
            at: files.appendingPathComponent("clients/\(name)"), withIntermediateDirectories: true)
        let databaseToken = try await database.databaseChanges(since: nil).changeToken
        try write(.databaseToken, databaseToken, files)
        let zoneToken = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil).changeToken
        try write(.zoneToken, zoneToken, files)
        let device = FixtureDevice()
        let engine = device.engine(database, nil)
        try await engine.fetchChanges()
        pending = ["pending-\(name)-1", "pending-\(name)-2"]
        engine.state.add(
            pendingRecordZoneChanges: pending.map { .saveRecord(CKRecord.ID(recordName: $0, zoneID: zoneID)) })
        await engine.handOutState()
        let state = try #require(device.state.withLock { $0 })
        try JSONEncoder().encode(state).write(to: file(.engine, in: files))
        try await change(database)
    }

    private func change(_ database: CKDatabase) async throws {
        let record = try await database.record(for: CKRecord.ID(recordName: archived, zoneID: zoneID))
        record["text"] = "changed after the token"
        _ = try await database.save(record)
    }

    /// Archives records, and notes the changes since the tokens, when no device changes anything any more.
    mutating func finishFiles(_ database: CKDatabase, in files: URL) async throws {
        let record = try await database.record(for: CKRecord.ID(recordName: archived, zoneID: zoneID))
        try write(.record, record, files)
        if zoneOwner == nil {
            let share = CKRecord.ID(recordName: "list-share", zoneID: zoneID)
            try write(.share, try await database.record(for: share), files)
        }
        let changes = try await database.recordZoneChanges(
            inZoneWith: zoneID, since: try unarchived(CKServerChangeToken.self, .zoneToken, in: files))
        changed = Self.names(changes.modificationResultsByID.keys, changes.deletions.map(\.recordID))
        let zones = try await database.databaseChanges(
            since: try unarchived(CKServerChangeToken.self, .databaseToken, in: files))
        changedZones = zones.modifications.map(\.zoneID.zoneName).sorted()
    }

    private func write(_ file: File, _ object: any NSObject & NSSecureCoding, _ files: URL) throws {
        let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
        try data.write(to: self.file(file, in: files))
    }
}
