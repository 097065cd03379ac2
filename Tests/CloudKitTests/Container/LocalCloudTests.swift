import CloudKit
import CloudKitLocal
import Testing

/// CloudKit over the service in this process.
@Suite struct LocalCloudTests {
    @Test func `a record that is saved can be fetched`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let record = CKRecord(recordType: "Artwork", recordID: CKRecord.ID(recordName: "A-17"))
        record["title"] = "Noon"
        record["year"] = 1932
        let saved = try await database.save(record)
        #expect(saved === record)
        #expect(saved.recordChangeTag != nil)
        #expect(saved.changedKeys() == [])
        #expect(saved.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        let fetched = try await database.record(for: record.recordID)
        #expect(fetched["title"] == "Noon")
        #expect(fetched["year"] == 1932)
        #expect(fetched.recordChangeTag == saved.recordChangeTag)
        #expect(fetched.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(fetched.creationDate == saved.creationDate)
    }

    @Test func `a conflict carries the server's, the client's and the ancestor record`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let original = CKRecord(recordType: "Artwork", recordID: CKRecord.ID(recordName: "A-17"))
        original["title"] = "Noon"
        try await database.save(original)
        let mine = try await database.record(for: original.recordID)
        let theirs = try await database.record(for: original.recordID)
        theirs["title"] = "Midnight"
        try await database.save(theirs)
        mine["title"] = "Dawn"
        let error = await expectFailure(.serverRecordChanged) { try await database.save(mine) }
        #expect(error?.serverRecord?["title"] == "Midnight")
        #expect(error?.serverRecord?.recordChangeTag == theirs.recordChangeTag)
        #expect(error?.clientRecord?["title"] == "Dawn")
        #expect(error?.ancestorRecord?["title"] == "Noon")
        let server = try #require(error?.serverRecord)
        server["title"] = "Dawn"
        try await database.save(server)
        #expect(try await database.record(for: original.recordID)["title"] == "Dawn")
    }

    @Test func `zones are made, listed and deleted with their records`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Gallery")
        #expect(zone.capabilities == [])
        let saved = try await database.save(zone)
        #expect(saved.capabilities.contains(.atomic))
        let record = CKRecord(
            recordType: "Artwork", recordID: CKRecord.ID(recordName: "A-17", zoneID: zone.zoneID))
        try await database.save(record)
        let zones = try await database.allRecordZones()
        #expect(Set(zones.map(\.zoneID)) == [.default, zone.zoneID])
        #expect(try await database.recordZone(for: zone.zoneID).zoneID == zone.zoneID)
        try await database.deleteRecordZone(withID: zone.zoneID)
        await expectFailure(.zoneNotFound) { _ = try await database.recordZone(for: zone.zoneID) }
        await expectFailure(.zoneNotFound) { _ = try await database.record(for: record.recordID) }
    }

    @Test func `accounts have private databases of their own and share the public one`() async throws {
        let cloud = try LocalCloud()
        let mei = cloud.container(account: "mei")
        let tom = cloud.container(account: "tom")
        let record = CKRecord(recordType: "Artwork", recordID: CKRecord.ID(recordName: "A-17"))
        try await mei.privateCloudDatabase.save(record)
        await expectFailure(.unknownItem) { _ = try await tom.privateCloudDatabase.record(for: record.recordID) }
        let shown = CKRecord(recordType: "Artwork", recordID: CKRecord.ID(recordName: "A-18"))
        try await mei.publicCloudDatabase.save(shown)
        let seen = try await tom.publicCloudDatabase.record(for: shown.recordID)
        #expect(seen.creatorUserRecordID == (try await mei.userRecordID()))
        #expect(try await mei.userRecordID() != (try await tom.userRecordID()))
    }

    @Test func `without an account only the public database can be read`() async throws {
        let cloud = try LocalCloud()
        let nobody = cloud.container(account: nil)
        let record = CKRecord(recordType: "Artwork", recordID: CKRecord.ID(recordName: "A-17"))
        try await cloud.container().publicCloudDatabase.save(record)
        #expect(try await nobody.publicCloudDatabase.record(for: record.recordID).recordID == record.recordID)
        #expect(try await nobody.accountStatus() == .noAccount)
        await expectFailure(.notAuthenticated) { _ = try await nobody.userRecordID() }
        await expectFailure(.notAuthenticated) {
            _ = try await nobody.privateCloudDatabase.record(for: record.recordID)
        }
        await expectFailure(.notAuthenticated) {
            try await nobody.publicCloudDatabase.save(CKRecord(recordType: "Artwork"))
        }
    }

    @Test func `records saved in a directory exist in the next process`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "LocalCloud-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let record = CKRecord(recordType: "Artwork", recordID: CKRecord.ID(recordName: "A-17"))
        record["title"] = "Noon"
        let first = try LocalCloud(directory: directory)
        try await first.container().privateCloudDatabase.save(record)
        let refusal = #expect(throws: LocalCloudError.self) { try LocalCloud(directory: directory) }
        #expect(refusal?.description.contains(directory.path) == true)
        await first.close()
        let second = try LocalCloud(directory: directory)
        let fetched = try await second.container().privateCloudDatabase.record(for: record.recordID)
        #expect(fetched["title"] == "Noon")
        await second.close()
    }

    @Test func `a closed cloud refuses requests`() async throws {
        let cloud = try LocalCloud()
        let database = cloud.container().privateCloudDatabase
        try await database.save(CKRecord(recordType: "Artwork"))
        await cloud.close()
        await expectFailure(.serviceUnavailable) { try await database.save(CKRecord(recordType: "Artwork")) }
    }

    @Test func `the default zone deletes dependents in the background`() async throws {
        let cloud = try LocalCloud()
        let database = cloud.container().privateCloudDatabase
        let artist = CKRecord(recordType: "Artist", recordID: CKRecord.ID(recordName: "Mei"))
        let work = CKRecord(recordType: "Artwork", recordID: CKRecord.ID(recordName: "A-17"))
        work["artist"] = CKRecord.Reference(record: artist, action: .deleteSelf)
        let results = try await database.modifyRecords(saving: [artist, work], deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
        try await database.deleteRecord(withID: artist.recordID)
        await cloud.settle()
        await expectFailure(.unknownItem) { _ = try await database.record(for: work.recordID) }
    }
}
