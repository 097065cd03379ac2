import CloudKitLocal
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
        let (service, reader) = cloud.hostile("mei")
        // The other device has the account's keys, and not those of the note.
        _ = try await text(reader.privateCloudDatabase, "list", in: Cloud.zoneID)
        let (isCrossed, hasRead) = (Box(false), Box(way != .conflict))
        service.afterModifyingRecords.value = { _, _ in hasRead.value = true }
        service.onRequest.value = { path in
            guard path == "keys/lookup", hasRead.value, !isCrossed.value else { return nil }
            isCrossed.value = true
            // A record that enters a share gets a new key with its next value.
            guard let note = try? await database.record(for: self.id("note")) else { return nil }
            note.parent = CKRecord.Reference(recordID: list.recordID, action: .none)
            if isAsset {
                note["image"] = (try? files.file("Newer")).map { CKAsset(fileURL: $0) }
            } else {
                note.encryptedValues["text"] = "Newer"
            }
            _ = try? await database.save(note)
            return nil
        }
        let error = await expectFailure(.zoneBusy) {
            try await read(way, reader.privateCloudDatabase)
        }
        #expect(error?.retryAfterSeconds != nil && isCrossed.value)
        let note = try await reader.privateCloudDatabase.record(for: id("note"))
        if isAsset {
            #expect(try note.text("image") == "Newer")
        } else {
            #expect(note.encryptedValues["text"] as? String == "Newer")
        }
    }
}
