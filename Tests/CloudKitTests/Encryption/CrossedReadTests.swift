import CloudKitTesting
import Foundation
import NephosWire
import Testing

@testable import CloudKit

/// Reads of a record between which and its keys another device saves it under a new key.
@Suite struct CrossedReadTests: SharedValuesChecks {
    private typealias Cloud = SharedValuesTests.Cloud

    enum Way: CaseIterable, Sendable { case fetch, query, feed, conflict }

    /// Reads the record "note".
    private func read(_ way: Way, _ database: CKDatabase) async throws {
        switch way {
        case .fetch: _ = try await database.record(for: id("note"))
        case .query:
            let query = CKQuery(recordType: "Item", predicate: NSPredicate(value: true))
            let found = try await database.records(matching: query, inZoneWith: Cloud.zoneID)
            _ = try found.matchResults.first { $0.0 == id("note") }?.1.get()
        case .feed:
            let changes = try await database.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil)
            _ = try changes.modificationResultsByID[id("note")]?.get()
        case .conflict: _ = try await database.save(Cloud.record("note", "Again"))
        }
    }

    @Test(arguments: Way.allCases.map { ($0, false) } + [(Way.fetch, true), (Way.query, true), (Way.feed, true)])
    func `a record that is saved under a new key while it is read is busy, and opens when it is fetched again`(
        way: Way, isAsset: Bool
    ) async throws {
        let files = try TestFiles()
        let cloud = try Cloud()
        let writer = cloud.container("mei")
        let database = writer.privateCloudDatabase
        let list = try await cloud.makeList(writer)
        if isAsset {
            let note = try await database.record(for: id("note"))
            note.encryptedValues["text"] = nil
            note["image"] = CKAsset(fileURL: try files.file("Mine"))
            _ = try await database.save(note)
        }
        _ = try await cloud.share(list, of: writer)
        let reader = cloud.container("mei")
        // The other device has the account's keys, and not those of the note.
        _ = try await text(reader.privateCloudDatabase, "list", in: Cloud.zoneID)
        // A conflict is read once the save has its answer.
        let saved = way == .conflict ? cloud.cloud.hold(.save, at: .afterCommit) : nil
        let held = way == .conflict ? nil : cloud.cloud.hold(.keys)
        let reading = Task { try await read(way, reader.privateCloudDatabase) }
        try await saved?.arrived()
        let keys = held ?? cloud.cloud.hold(.keys)
        saved?.release()
        try await keys.arrived()
        // A record that enters a share gets a new key with its next value.
        let newer = try await database.record(for: id("note"))
        newer.parent = CKRecord.Reference(recordID: list.recordID, action: .none)
        if isAsset {
            newer["image"] = CKAsset(fileURL: try files.file("Newer"))
        } else {
            newer.encryptedValues["text"] = "Newer"
        }
        _ = try await database.save(newer)
        keys.release()
        let error = await expectFailure(.zoneBusy) { try await reading.value }
        #expect(error?.retryAfterSeconds != nil)
        let note = try await reader.privateCloudDatabase.record(for: id("note"))
        if isAsset {
            #expect(try note.text("image") == "Newer")
        } else {
            #expect(note.encryptedValues["text"] as? String == "Newer")
        }
    }
}
