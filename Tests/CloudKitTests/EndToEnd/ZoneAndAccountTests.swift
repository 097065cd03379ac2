import CloudKit
import CloudKitLocal
import Testing

/// Zones and accounts against the whole service, through both transports.
@Suite struct ZoneAndAccountEndToEndTests {
    @Test(arguments: Transport.allCases)
    func `zones are saved, saved again, listed, fetched and deleted with their records`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            #expect(try await database.allRecordZones().map(\.zoneID) == [.default])
            let zone = CKRecordZone(zoneName: "Z")
            #expect(zone.capabilities == [])
            #expect(try await database.save(zone).capabilities == .ofCustomZones)
            let record = try await database.save(note("n", in: zone.zoneID))
            // Saving a zone that is there neither fails nor empties it.
            try await database.save(CKRecordZone(zoneName: "Z"))
            #expect(try await database.existing([record]) == ["n"])
            let all = try await database.allRecordZones()
            #expect(Set(all.map(\.zoneID)) == [.default, zone.zoneID])
            #expect(all.allSatisfy { $0.zoneID.ownerName == CKCurrentUserDefaultName })

            let missing = CKRecordZone.ID(zoneName: "Missing")
            let results = try await database.recordZones(for: [zone.zoneID, missing, .default])
            #expect(results.count == 3 && (try? results[zone.zoneID]?.get()) != nil)
            await expectFailure(.zoneNotFound) { _ = try results[missing]?.get() }

            let (saves, deletes) = try await database.modifyRecordZones(
                saving: [CKRecordZone(zoneName: "Y")], deleting: [zone.zoneID, missing])
            #expect(saves.count == 1 && (try? deletes[zone.zoneID]?.get()) != nil)
            await expectFailure(.zoneNotFound) { try deletes[missing]?.get() }
            await expectFailure(.zoneNotFound) { _ = try await database.record(for: record.recordID) }
            try await database.save(CKRecordZone(zoneName: "Z"))
            await expectFailure(.unknownItem) { _ = try await database.record(for: record.recordID) }
        }
    }

    @Test func `a missing zone's error names the remedy`() async throws {
        let cloud = try LocalCloud()
        let (mei, ana) = (cloud.container(account: "mei"), cloud.container(account: "ana"))
        let database = mei.privateCloudDatabase
        try await database.save(CKRecordZone(zoneName: "Notes"))
        let anas = CKRecordZone.ID(zoneName: "Notes", ownerName: try await ana.userRecordID().recordName)
        let meis = CKRecordZone.ID(zoneName: "Notes", ownerName: try await mei.userRecordID().recordName)
        func said(
            _ code: CKError.Code = .zoneNotFound, _ body: () async throws -> Void
        ) async -> String? {
            await expectFailure(code, body)?.localizedDescription
        }
        let toSave = await said { try await database.save(note("n", in: CKRecordZone.ID(zoneName: "Lists"))) }
        #expect(toSave == "Zone 'Lists' does not exist: save the zone before the records in it")
        let near = CKRecordZone.ID(zoneName: "notes")
        let toRead = await said { _ = try await database.record(for: note("n", in: near).recordID) }
        #expect(toRead == "Zone 'notes' does not exist: the account has no zone of that name; did you mean 'Notes'?")
        let others = await said { try await database.save(note("n", in: anas)) }
        #expect(
            others == "Zone 'Notes' does not exist: others' zones are in the shared database, once a share is accepted")
        let shared = mei.sharedCloudDatabase
        for zoneID in [anas, CKRecordZone.ID(zoneName: "Anything", ownerName: anas.ownerName)] {
            let notShared = await said { _ = try await shared.record(for: note("n", in: zoneID).recordID) }
            #expect(
                notShared
                    == "Zone '\(zoneID.zoneName)' does not exist: nothing of it is shared with the account, which has"
                    + " to accept a share first")
        }
        for zoneID in [meis, CKRecordZone.ID(zoneName: "Notes")] {
            let own = await said(.invalidArguments) { _ = try await shared.record(for: note("n", in: zoneID).recordID) }
            #expect(
                own
                    == "Only shared zones can be accessed in the shared DB: the account's own are in the private database, and"
                    + " one that is shared with it is named with its owner")
        }
        let inPublic = await said { try await mei.publicCloudDatabase.save(note("n", in: near)) }
        #expect(inPublic == "Zone 'notes' does not exist: the public database has the default zone alone")
    }

    @Test(arguments: Transport.allCases)
    func `custom zones are made in the private database only`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let container = cloud.container()
            await expectFailure(.badDatabase) {
                try await container.publicCloudDatabase.save(CKRecordZone(zoneName: "Z"))
            }
            await expectFailure(.badDatabase) {
                try await container.sharedCloudDatabase.save(CKRecordZone(zoneName: "Z"))
            }
        }
    }

    @Test(arguments: Transport.allCases)
    func `without an account only the public database can be read`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let record = try await cloud.container("mei").publicCloudDatabase.save(note("open"))
            let nobody = cloud.container(nil)
            #expect(try await nobody.accountStatus() == .noAccount)
            #expect(try await nobody.publicCloudDatabase.record(for: record.recordID).recordID == record.recordID)
            await expectFailure(.unknownItem) {
                _ = try await nobody.publicCloudDatabase.record(for: note("none").recordID)
            }
            await expectFailure(.notAuthenticated) { _ = try await nobody.userRecordID() }
            await expectFailure(.notAuthenticated) { try await nobody.publicCloudDatabase.save(note("mine")) }
            await expectFailure(.notAuthenticated) { _ = try await nobody.privateCloudDatabase.allRecordZones() }
            await expectFailure(.notAuthenticated) {
                _ = try await nobody.sharedCloudDatabase.record(for: record.recordID)
            }
        }
    }

    @Test(arguments: Transport.allCases)
    func `an account has its own databases, and one identity in all databases of a container`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let mei = cloud.container("mei")
            let tom = cloud.container("tom")
            #expect(try await mei.accountStatus() == .available)
            let id = try await mei.userRecordID()
            #expect(id.recordName.hasPrefix("_") && id.zoneID == .default)
            #expect(try await cloud.container("mei").userRecordID() == id)
            #expect(try await tom.userRecordID() != id)
            #expect(try await cloud.container("mei", "iCloud.org.example.Other").userRecordID() != id)

            let record = note("n")
            record["title"] = "mei's"
            try await mei.privateCloudDatabase.save(record)
            await expectFailure(.unknownItem) { _ = try await tom.privateCloudDatabase.record(for: record.recordID) }
            await expectFailure(.unknownItem) { _ = try await mei.publicCloudDatabase.record(for: record.recordID) }
            #expect(
                try await cloud.container("mei").privateCloudDatabase.record(for: record.recordID)["title"] == "mei's")
        }
    }

    @Test(arguments: Transport.allCases)
    func `the current user's record is fetched without its ID`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let container = cloud.container()
            let operation = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
            #expect(operation.recordIDs == nil)
            let user: CKRecord? = await withCheckedContinuation { continuation in
                var user: CKRecord?
                operation.perRecordResultBlock = { _, result in user = try? result.get() }
                operation.fetchRecordsResultBlock = { _ in continuation.resume(returning: user) }
                container.privateCloudDatabase.add(operation)
            }
            #expect(user?.recordType == CKRecord.SystemType.userRecord)
            let userRecordID = try await container.userRecordID()
            #expect(user?.recordID == userRecordID)
        }
    }

    @Test(arguments: Transport.allCases)
    func `one fetch reports records of several zones, missing records and missing zones`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            try await database.saveAll([note("n"), note("n", in: zone)])
            let lost = CKRecord.ID(recordName: "n", zoneID: CKRecordZone.ID(zoneName: "Missing"))
            let ids = [note("n").recordID, note("n", in: zone).recordID, note("none").recordID, lost]
            let results = try await database.records(for: ids)
            #expect(results.count == 4)
            #expect(try results[ids[0]]?.get().recordID == ids[0] && results[ids[1]]?.get().recordID == ids[1])
            await expectFailure(.unknownItem) { _ = try results[ids[2]]?.get() }
            await expectFailure(.zoneNotFound) { _ = try results[lost]?.get() }
        }
    }
}
