import CloudKit
import Testing

/// `CKCurrentUserDefaultName` stands for the current user's record wherever an ID is sent.
@Suite struct CurrentUserTests {
    private let me = CKRecord.ID(recordName: CKCurrentUserDefaultName)

    private func reference(
        _ recordID: CKRecord.ID, _ action: CKRecord.ReferenceAction = .none
    ) -> CKRecord.Reference { CKRecord.Reference(recordID: recordID, action: action) }

    @Test(arguments: Transport.allCases)
    func `the ID of a record's creator leads to the user record`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let container = cloud.container()
            let real = try await container.userRecordID()
            for database in [container.publicCloudDatabase, container.privateCloudDatabase] {
                let made = try await database.save(note("n"))
                let creator = try #require(made.creatorUserRecordID)
                #expect(creator.recordName == CKCurrentUserDefaultName && made.lastModifiedUserRecordID == creator)
                let user = try await database.record(for: creator)
                #expect(user.recordType == CKRecord.SystemType.userRecord && user.recordID == real)
                // Whoever asks by an ID finds the answer under it.
                let results = try await database.records(for: [creator, real])
                #expect(Set(results.keys) == [creator, real])
                #expect(results.values.allSatisfy { (try? $0.get().recordID) == real })

                user["nick"] = "Mei"
                try await database.save(user)
                let named = CKRecord(recordType: CKRecord.SystemType.userRecord, recordID: creator)
                named["age"] = 7
                try await database.saveAll([named], .changedKeys)
                #expect(named.recordID == creator && named.creatorUserRecordID == creator)
                let stored = try await database.record(for: real)
                #expect(stored["nick"] == "Mei" && stored["age"] == 7)
                await expectFailure(.invalidArguments) { try await database.deleteRecord(withID: creator) }
            }
        }
    }

    @Test(arguments: Transport.allCases)
    func `a reference to the current user is the same user for every account`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let mine = cloud.container("mei").publicCloudDatabase
            let others = cloud.container("tom").publicCloudDatabase
            let mei = try await cloud.container("mei").userRecordID()
            let tom = try await cloud.container("tom").userRecordID()
            let record = note("n")
            record["author"] = reference(me)
            record["readers"] = [reference(tom), reference(me)]
            record["owner"] = reference(me, .deleteSelf)
            try await mine.save(record)

            let read = try await others.record(for: record.recordID)
            #expect((read["author"] as? CKRecord.Reference)?.recordID == mei)
            #expect((read["readers"] as? [CKRecord.Reference])?.map(\.recordID) == [tom, mei])
            let owner = read["owner"] as? CKRecord.Reference
            #expect(owner?.recordID == mei && owner?.action == .deleteSelf)
            #expect(read.creatorUserRecordID == mei)

            func found(_ database: CKDatabase, _ format: String, _ value: Any) async throws -> Int {
                let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: format, argumentArray: [value]))
                return try await database.records(matching: query).matchResults.count
            }
            for key in ["author == %@", "owner == %@", "readers CONTAINS %@", "creatorUserRecordID == %@"] {
                #expect(try await found(mine, key, reference(me)) == 1, "\(key)")
                #expect(try await found(mine, key, reference(mei)) == 1, "\(key)")
                #expect(try await found(others, key, reference(mei)) == 1, "\(key)")
            }
            #expect(try await found(others, "author == %@", reference(me)) == 0)
            #expect(try await found(others, "readers CONTAINS %@", reference(me)) == 1)
            #expect(try await found(mine, "author IN %@", [reference(me), reference(tom)]) == 1)
        }
    }

    @Test(arguments: Transport.allCases)
    func `the current user's record can be a parent, and its children are found by it`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = note("n")
            record.setParent(me)
            try await database.save(record)
            let real = try await cloud.container().userRecordID()
            #expect(try await database.record(for: record.recordID).parent?.recordID == real)
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "parent == %@", reference(me)))
            #expect(try await database.records(matching: query).matchResults.count == 1)
        }
    }

    @Test(arguments: Transport.allCases)
    func `a subscription to the current user's records fires for them`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.container("mei").publicCloudDatabase
            let real = try await cloud.container("mei").userRecordID()
            let first = note("n")
            first["author"] = reference(me)
            try await database.save(first)
            let subscription = CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(format: "author == %@", reference(me)),
                subscriptionID: "mine", options: .firesOnRecordUpdate)
            try await database.save(subscription)
            let fetched = try await database.subscription(for: "mine") as? CKQuerySubscription
            let probe = note("probe")
            probe["author"] = reference(real)
            #expect(fetched?.predicate.evaluate(with: probe) == true)
        }
    }

    @Test(arguments: Transport.allCases)
    func `zone IDs have one spelling, however the owner was written`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let container = cloud.container()
            let database = container.privateCloudDatabase
            let real = try await container.userRecordID().recordName
            let zone = try await database.zone("Z")
            let target = try await database.save(note("target", in: zone))
            for owner in [CKCurrentUserDefaultName, "_defaultOwner", real] {
                let asked = CKRecordZone.ID(zoneName: "Z", ownerName: owner)
                let name = "in \(owner.prefix(3)) \(owner.count)"
                let record = note(name, in: asked)
                record["target"] = CKRecord.Reference(
                    recordID: CKRecord.ID(recordName: "target", zoneID: asked), action: .none)
                try await database.save(record)
                #expect(try await database.record(for: record.recordID).recordID.zoneID == zone, "\(owner)")
                let results = try await database.records(for: [record.recordID])
                #expect(try results[record.recordID]?.get().recordID.zoneID == zone, "\(owner)")

                let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
                for (id, result) in try await database.records(matching: query, inZoneWith: asked).matchResults {
                    #expect(id.zoneID == zone, "\(owner)")
                    let reference = try result.get()["target"] as? CKRecord.Reference
                    #expect(reference == nil || reference?.recordID == target.recordID, "\(owner)")
                }
                let changes = try await database.recordZoneChanges(inZoneWith: asked, since: nil)
                for (id, result) in changes.modificationResultsByID {
                    #expect(id.zoneID == zone, "\(owner)")
                    #expect(try result.get().record.recordID == id, "\(owner)")
                }
                #expect(changes.modificationResultsByID.count > 1)
                #expect(try await database.recordZone(for: asked).zoneID == zone, "\(owner)")
                try await database.deleteRecord(withID: record.recordID)
                let after = try await database.recordZoneChanges(inZoneWith: asked, since: changes.changeToken)
                #expect(after.deletions.map(\.recordID.zoneID) == [zone], "\(owner)")
            }
            #expect(Set(try await database.allRecordZones().map(\.zoneID)) == [.default, zone])
            #expect(try await database.databaseChanges(since: nil).modifications.map(\.zoneID) == [zone])
        }
    }

    @Test(arguments: Transport.allCases)
    func `changing or deleting another's user record is a permissionFailure`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let other = try await cloud.container("tom").userRecordID()
            let container = cloud.container("mei")
            for database in [container.publicCloudDatabase, container.privateCloudDatabase] {
                let record = CKRecord(recordType: CKRecord.SystemType.userRecord, recordID: other)
                record["nick"] = "stolen"
                for policy in [CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .allKeys] {
                    await expectFailure(.permissionFailure) { try await database.saveAll([record], policy) }
                }
                await expectFailure(.permissionFailure) { try await database.deleteRecord(withID: other) }
                // An unused user name is still no name.
                await expectFailure(.invalidArguments) { try await database.save(note("_nobody")) }
            }
            let shared = try await container.publicCloudDatabase.record(for: other)
            shared["nick"] = "stolen"
            await expectFailure(.permissionFailure) { try await container.publicCloudDatabase.save(shared) }
            #expect(try await cloud.container("tom").publicCloudDatabase.record(for: other)["nick"] == nil)
        }
    }

    @Test(arguments: Transport.allCases)
    func `the server's record of a conflict names the current user by the default name`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            try await cloud.database().save(note("taken"))
            // A container that has not heard yet who it is.
            let failure = await expectFailure(.serverRecordChanged) {
                try await cloud.database().save(note("taken"))
            }
            #expect(failure?.serverRecord?.creatorUserRecordID == me)
            #expect(failure?.serverRecord?.lastModifiedUserRecordID == me)
        }
    }

    @Test(arguments: Transport.allCases)
    func `the name of a zone's share is reserved for the service`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            for record in [note(CKRecordNameZoneWideShare, in: zone), note(CKRecordNameZoneWideShare)] {
                await expectFailure(.invalidArguments) { try await database.save(record) }
            }
        }
    }
}
