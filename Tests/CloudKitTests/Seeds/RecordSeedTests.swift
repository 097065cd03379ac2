import CloudKit
import Testing

/// What Apple's pages on `CKRecord` and `CKRecord.ID` say of the server; each name gives a sentence's meaning.
@Suite struct RecordSeedTests {
    @Test(arguments: Transport.allCases)
    func `the server validates a new record's uniqueness and returns an error under the default policy`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            #expect(CKModifyRecordsOperation().savePolicy == .ifServerRecordUnchanged)
            try await database.save(note("taken"))
            let failure = await expectFailure(.serverRecordChanged) { try await database.save(note("taken")) }
            #expect(failure?.serverRecord?.recordChangeTag != nil && failure?.clientRecord?.recordChangeTag == nil)
            #expect(failure?.ancestorRecord?.allKeys() == [])
        }
    }

    @Test(arguments: Transport.allCases, [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys])
    func `for all other save policies, the server overwrites the contents of the existing record`(
        transport: Transport, policy: CKModifyRecordsOperation.RecordSavePolicy
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let first = note("taken")
            first["title"] = "first"
            try await database.save(first)
            let second = note("taken")
            second["title"] = "second"
            try await database.saveAll([second], policy)
            let fetched = try await database.record(for: first.recordID)
            #expect(fetched["title"] == "second" && fetched.recordChangeTag != first.recordChangeTag)
            // Also those of a record of another type.
            let third = note("taken", "Task")
            third["due"] = 3
            try await database.saveAll([third], policy)
            let other = try await database.record(for: first.recordID)
            #expect(other.recordType == "Task" && other["due"] == 3 && other.allKeys() == ["due"])
            #expect(other.creationDate == first.creationDate)
        }
    }

    @Test(arguments: Transport.allCases, [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys])
    func `a record of another type takes the place under the same parent`(
        transport: Transport, policy: CKModifyRecordsOperation.RecordSavePolicy
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let child = note("child")
            child.setParent(note("parent").recordID)
            try await database.saveAll([note("parent"), child], policy)
            try await database.saveAll([note("child", "Task")], policy)
            let fetched = try await database.record(for: child.recordID)
            #expect(fetched.recordType == "Task" && fetched.parent?.recordID.recordName == "parent")
        }
    }

    @Test(arguments: Transport.allCases)
    func `for new instances the dates are nil, and a save sets the times of the first and latest save`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = note("dated")
            #expect(record.creationDate == nil && record.modificationDate == nil)
            let before = Date()
            try await database.save(record)
            let created = try #require(record.creationDate)
            let first = try #require(record.modificationDate)
            #expect(abs(created.timeIntervalSince(before)) < 600 && first == created)
            record["title"] = "again"
            try await database.save(record)
            #expect(record.creationDate == created)
            #expect(try #require(record.modificationDate) >= first)
            let fetched = try await database.record(for: record.recordID)
            #expect(fetched.creationDate == created && fetched.modificationDate == record.modificationDate)
        }
    }

    @Test(arguments: Transport.allCases)
    func `creatorUserRecordID is the user who creates the record, lastModifiedUserRecordID who last modified it`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let mei = cloud.container("mei")
            let tom = cloud.container("tom")
            let meiID = try await mei.userRecordID()
            let tomID = try await tom.userRecordID()
            try await cloud.importSchema(
                "DEFINE SCHEMA RECORD TYPE Note (title STRING, GRANT READ, CREATE, WRITE TO \"_icloud\");")
            let record = note("ours")
            #expect(record.creatorUserRecordID == nil && record.lastModifiedUserRecordID == nil)
            try await mei.publicCloudDatabase.save(record)
            let seen = try await tom.publicCloudDatabase.record(for: record.recordID)
            #expect(seen.creatorUserRecordID == meiID && seen.lastModifiedUserRecordID == meiID)
            seen["title"] = "changed"
            try await tom.publicCloudDatabase.save(seen)
            let back = try await mei.publicCloudDatabase.record(for: record.recordID)
            #expect(back.lastModifiedUserRecordID == tomID)
            #expect(back.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        }
    }

    @Test(arguments: Transport.allCases)
    func `every user of the app has a unique user record that is empty by default, and apps can add data to it`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let mei = cloud.container("mei")
            let tom = cloud.container("tom")
            let meiID = try await mei.userRecordID()
            #expect(try await tom.userRecordID() != meiID)
            for database in [mei.privateCloudDatabase, mei.publicCloudDatabase] {
                let user = try await database.record(for: meiID)
                #expect(user.recordType == CKRecord.SystemType.userRecord && user.allKeys() == [])
                user["nickname"] = "M"
                try await database.save(user)
                #expect(try await database.record(for: meiID)["nickname"] == "M")
            }
        }
    }

    @Test(arguments: Transport.allCases)
    func `use creatorUserRecordID and lastModifiedUserRecordID to retrieve user records`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let mei = cloud.container("mei").publicCloudDatabase
            let tom = cloud.container("tom").publicCloudDatabase
            let user = try await mei.record(for: try await cloud.container("mei").userRecordID())
            user["nickname"] = "M"
            try await mei.save(user)
            let record = try await mei.save(note("hers"))
            for database in [mei, tom] {
                let seen = try await database.record(for: record.recordID)
                for id in [seen.creatorUserRecordID, seen.lastModifiedUserRecordID] {
                    let found = try await database.record(for: try #require(id))
                    #expect(found["nickname"] == "M" && found.recordID == user.recordID)
                }
            }
        }
    }

    @Test(arguments: Transport.allCases)
    func `the name must contain only ASCII characters, must not exceed 255 and must not start with an underscore`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let longest = String(repeating: "n", count: 255)
            for name in ["caf\u{E9}", "\u{1F600}", longest + "n", "_private", "tab\t"] {
                await expectFailure(.invalidArguments) { try await database.save(note(name)) }
                await expectFailure(.unknownItem) { _ = try await database.record(for: note(name).recordID) }
            }
            for name in [longest, " ", "a_b", "~!@#$%^&*()"] {
                let saved = try await database.save(note(name))
                #expect(try await database.record(for: saved.recordID).recordID.recordName == name)
            }
        }
    }

    @Test(arguments: Transport.allCases)
    func `in all other cases the record generates a UUID, and its ID never changes during its lifetime`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let record = CKRecord(recordType: "Note")
            let id = record.recordID
            #expect(UUID(uuidString: id.recordName) != nil && id.zoneID == .default)
            let saved = try await cloud.database().save(record)
            #expect(saved === record && record.recordID == id)
            #expect(try await cloud.database().record(for: id).recordID == id)
        }
    }

    @Test(arguments: Transport.allCases)
    func `every save of a record updates its change token, and a save with the current token applies`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = note("tagged")
            var tags: Set<String> = []
            for round in 1...4 {
                record["round"] = round
                try await database.save(record)
                tags.insert(try #require(record.recordChangeTag))
            }
            #expect(tags.count == 4)
            let fetched = try await database.record(for: record.recordID)
            #expect(fetched.recordChangeTag == record.recordChangeTag && fetched["round"] == 4)
        }
    }

    @Test(arguments: Transport.allCases)
    func `if the two tokens don't match, the server checks the save policy to determine how to proceed`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = note("contended")
            record["title"] = "first"
            record["untouched"] = "kept"
            try await database.save(record)
            let stale = try await database.record(for: record.recordID)
            record["title"] = "second"
            try await database.save(record)

            stale["title"] = "third"
            let failure = await expectFailure(.serverRecordChanged) { try await database.save(stale) }
            #expect(failure?.serverRecord?["title"] == "second" && failure?.serverRecord?["untouched"] == "kept")
            #expect(failure?.serverRecord?.recordChangeTag == record.recordChangeTag)
            #expect(failure?.clientRecord?["title"] == "third" && failure?.ancestorRecord?["title"] == "first")
            #expect(failure?.ancestorRecord?.recordChangeTag == stale.recordChangeTag)
            #expect(try await database.record(for: record.recordID)["title"] == "second")

            // Apple's advice: put what is wanted into the server's record and save that.
            let server = try #require(failure?.serverRecord)
            server["title"] = failure?.clientRecord?["title"] as? String
            #expect(try await database.save(server)["title"] == "third")

            try await database.saveAll([stale], .changedKeys)
            let merged = try await database.record(for: record.recordID)
            #expect(merged["title"] == "third" && merged["untouched"] == "kept")
            #expect(merged.recordChangeTag == stale.recordChangeTag)
        }
    }

    @Test(arguments: Transport.allCases)
    func `each name is unique within its zone, and can be reused in different zones, databases and accounts`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let mei = cloud.container("mei")
            let tom = cloud.container("tom")
            let zone = try await mei.privateCloudDatabase.zone("Z")
            try await mei.privateCloudDatabase.saveAll([note("same"), note("same", in: zone)])
            try await tom.privateCloudDatabase.save(note("same"))
            try await cloud.container("mei", "iCloud.org.example.Other").privateCloudDatabase.save(note("same"))
            await expectFailure(.serverRecordChanged) { try await tom.privateCloudDatabase.save(note("same")) }
            // A name is one record's, whatever the type.
            let failure = await expectFailure(.serverRecordChanged) {
                try await tom.privateCloudDatabase.save(note("same", in: .default, "Other"))
            }
            #expect(failure?.serverRecord?.recordType == "Note" && failure?.clientRecord?.recordType == "Other")
        }
    }

    @Test(arguments: Transport.allCases)
    func `the private database is different for each user, and the public one has one record per record ID`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            try await cloud.container("mei").publicCloudDatabase.save(note("same"))
            await expectFailure(.serverRecordChanged) {
                try await cloud.container("tom").publicCloudDatabase.save(note("same"))
            }
        }
    }

    @Test(arguments: Transport.allCases)
    func `if the record zone doesn't exist, save it before attempting to save any records in that zone`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = CKRecordZone(zoneName: "Later")
            let record = note("early", in: zone.zoneID)
            await expectFailure(.zoneNotFound) { try await database.save(record) }
            await expectFailure(.zoneNotFound) { _ = try await database.record(for: record.recordID) }
            try await database.save(zone)
            try await database.save(record)
            #expect(try await database.record(for: record.recordID).recordID == record.recordID)
        }
    }

    @Test(arguments: Transport.allCases)
    func `fetch a record by its ID with CKFetchRecordsOperation or with fetch(withRecordID:completionHandler:)`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = try await database.save(note("found"))
            let (fetched, error) = await withCheckedContinuation { continuation in
                database.fetch(withRecordID: record.recordID) { continuation.resume(returning: ($0, $1)) }
            }
            #expect(fetched == record && error == nil)
            let results: [CKRecord.ID: CKRecord] = await withCheckedContinuation { continuation in
                var found: [CKRecord.ID: CKRecord] = [:]
                let operation = CKFetchRecordsOperation(recordIDs: [record.recordID])
                operation.perRecordResultBlock = { found[$0] = try? $1.get() }
                operation.fetchRecordsResultBlock = { _ in continuation.resume(returning: found) }
                database.add(operation)
            }
            #expect(results == [record.recordID: record])
            // The strings of an ID are enough to make it again.
            let again = CKRecord.ID(
                recordName: record.recordID.recordName,
                zoneID: CKRecordZone.ID(
                    zoneName: record.recordID.zoneID.zoneName, ownerName: record.recordID.zoneID.ownerName))
            #expect(try await database.record(for: again) == record)
        }
    }

    @Test(arguments: Transport.allCases)
    func `encodeSystemFields stores the record ID and the change tag, which are needed to sync records later`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            let record = note("kept", in: zone)
            record["title"] = "first"
            try await database.save(record)
            let archiver = NSKeyedArchiver(requiringSecureCoding: true)
            record.encodeSystemFields(with: archiver)
            archiver.finishEncoding()

            func rebuilt() throws -> CKRecord {
                let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
                unarchiver.requiresSecureCoding = true
                defer { unarchiver.finishDecoding() }
                return try #require(CKRecord(coder: unarchiver))
            }
            let local = try rebuilt()
            #expect(
                local.allKeys() == [] && local.changedKeys() == [] && local.recordChangeTag == record.recordChangeTag)
            local["title"] = "second"
            try await database.save(local)
            #expect(try await database.record(for: record.recordID)["title"] == "second")
            let stale = try rebuilt()
            stale["title"] = "third"
            await expectFailure(.serverRecordChanged) { try await database.save(stale) }
        }
    }
}
