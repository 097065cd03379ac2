import CloudKit
import CloudKitLocal
import Testing

/// What Apple's pages on CKRecord and CKRecord.ID say of the server, sentence by sentence.
@Suite struct RecordSavingTests {
    @Test func `dates, users and the change tag are nil for new instances and update on the save`()
        async throws
    {
        let setup = try Conformance()
        let record = CKRecord("a")
        #expect(record.creationDate == nil && record.modificationDate == nil && record.recordChangeTag == nil)
        #expect(record.creatorUserRecordID == nil && record.lastModifiedUserRecordID == nil)
        let saved = try await setup.database.save(record)
        #expect(saved.creationDate != nil && saved.modificationDate != nil && saved.recordChangeTag != nil)
        #expect(saved.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(saved.lastModifiedUserRecordID == saved.creatorUserRecordID)
    }

    @Test func `the creation date is that of the first save, the modification date that of the most recent`()
        async throws
    {
        let setup = try Conformance()
        let first = try await setup.database.save(CKRecord("a"))
        let created = try #require(first.creationDate)
        first["x"] = 1
        let second = try await setup.database.save(first)
        #expect(second.creationDate == created)
        #expect(try #require(second.modificationDate) >= created)
    }

    @Test func `creator and modifier are the users who created and most recently modified the record`() async throws {
        let setup = try Conformance()
        let mine = setup.container.publicCloudDatabase
        let others = setup.cloud.container(account: "other")
        try await mine.save(CKRecord("a"))
        let theirs = try await others.publicCloudDatabase.record(for: CKRecord.ID(recordName: "a"))
        theirs["x"] = 1
        try await others.publicCloudDatabase.save(theirs)
        let record = try await mine.record(for: theirs.recordID)
        #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(record.lastModifiedUserRecordID == (try await others.userRecordID()))
    }

    @Test func `every user has a unique user record that is empty by default and can take data`() async throws {
        let setup = try Conformance()
        let id = try await setup.container.userRecordID()
        #expect(try await setup.cloud.container(account: "other").userRecordID() != id)
        let user = try await setup.container.publicCloudDatabase.record(for: id)
        #expect(user.recordType == CKRecord.SystemType.userRecord && user.allKeys().isEmpty)
        user["nick"] = "Mei"
        #expect(try await setup.container.publicCloudDatabase.save(user)["nick"] == "Mei")
    }

    @Test func `every time CloudKit saves a record the server updates its change token to a new value`() async throws {
        let setup = try Conformance()
        let record = CKRecord("a")
        var tags: Set<String> = []
        for number in 0..<5 {
            record["x"] = number
            tags.insert(try #require(try await setup.database.save(record).recordChangeTag))
        }
        #expect(tags.count == 5)
    }

    @Test func `if the tokens match the changes apply, and if they do not the save policy decides`() async throws {
        let setup = try Conformance()
        try await setup.database.save(CKRecord("a"))
        let mine = try await setup.database.record(for: CKRecord.ID(recordName: "a"))
        let stale = try await setup.database.record(for: mine.recordID)
        mine["x"] = 1
        try await setup.database.save(mine)
        stale["y"] = 2
        #expect(await code { try await setup.database.save(stale) } == .serverRecordChanged)
        let forced = try await setup.database.modifyRecords(saving: [stale], deleting: [], savePolicy: .changedKeys)
        #expect(try forced.saveResults[stale.recordID]?.get() != nil)
        let merged = try await setup.database.record(for: mine.recordID)
        #expect(merged["x"] as? Int == 1 && merged["y"] as? Int == 2)
    }

    @Test func `saving a new record over an existing one fails with ifServerRecordUnchanged, the default, alone`()
        async throws
    {
        let setup = try Conformance()
        let old = CKRecord("a")
        old["x"] = 1
        old["kept"] = true
        try await setup.database.save(old)
        let new = CKRecord("a")
        new["x"] = 2
        do {
            try await setup.database.save(new)
            Issue.record("it was saved")
        } catch let error as CKError {
            #expect(error.code == .serverRecordChanged)
            #expect(error.serverRecord?["x"] == 1 && error.clientRecord?["x"] == 2)
            #expect(error.ancestorRecord?.allKeys() == [])
        }
        for policy in [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys] {
            let results = try await setup.database.modifyRecords(saving: [new], deleting: [], savePolicy: policy)
            #expect(try results.saveResults[new.recordID]?.get() != nil)
            new["x"] = 3
        }
        let record = try await setup.database.record(for: old.recordID)
        #expect(record["x"] as? Int == 3 && record["kept"] as? Bool == true)
    }

    @Test func `a conflict carries the server's, the client's and the ancestor's record, and merging resolves it`()
        async throws
    {
        let setup = try Conformance()
        let original = CKRecord("a")
        original["x"] = "ancestor"
        try await setup.database.save(original)
        let mine = try await setup.database.record(for: original.recordID)
        original["x"] = "server"
        try await setup.database.save(original)
        mine["x"] = "client"
        do {
            try await setup.database.save(mine)
            Issue.record("it was saved")
        } catch let error as CKError {
            #expect(error.ancestorRecord?["x"] == "ancestor" && error.clientRecord?["x"] == "client")
            let server = try #require(error.serverRecord)
            #expect(server["x"] == "server")
            server["x"] = error.clientRecord?["x"] as? String
            #expect(try await setup.database.save(server)["x"] == "client")
        }
    }

    @Test func `a record with a tag that no longer exists on the server is an unknown item`() async throws {
        let setup = try Conformance()
        let record = try await setup.database.save(CKRecord("a"))
        try await setup.database.deleteRecord(withID: record.recordID)
        record["x"] = 1
        #expect(await code { try await setup.database.save(record) } == .unknownItem)
    }

    @Test func `record IDs can be reused in different databases, but only one record of the public database has one`()
        async throws
    {
        let setup = try Conformance()
        let other = setup.cloud.container(account: "other")
        let id = CKRecord.ID(recordName: "a")
        for database in [setup.database, other.privateCloudDatabase, setup.container.publicCloudDatabase] {
            try await database.save(CKRecord("a"))
        }
        #expect(await code { try await other.publicCloudDatabase.save(CKRecord("a")) } == .serverRecordChanged)
        try await setup.database.deleteRecord(withID: id)
        #expect(try await other.privateCloudDatabase.record(for: id).recordID == id)
    }

    @Test func `the zone must exist before a record is saved in it`() async throws {
        let setup = try Conformance()
        let zone = CKRecordZone(zoneName: "Zone")
        let record = CKRecord("a", in: zone.zoneID)
        #expect(await code { try await setup.database.save(record) } == .zoneNotFound)
        try await setup.database.save(zone)
        #expect(try await setup.database.save(record).recordID.zoneID == zone.zoneID)
    }

    @Test func `the first save of a key associates its type with it for all records of the record type`()
        async throws
    {
        let setup = try Conformance()
        let first = CKRecord("a")
        first["x"] = "text"
        try await setup.database.save(first)
        let second = CKRecord("b")
        second["x"] = 5
        #expect(second["x"] == 5)
        #expect(await code { try await setup.database.save(second) } == .invalidArguments)
        #expect(try await setup.database.existing([second.recordID]) == [])
    }

    @Test func `the data that a record stores must not exceed 1 MB`() async throws {
        let setup = try Conformance()
        let record = CKRecord("a")
        record["x"] = Data(count: 1_000_000)
        try await setup.database.save(record)
        record["y"] = Data(count: 100_000)
        #expect(await code { try await setup.database.save(record) } == .limitExceeded)
    }

    @Test func `every supported data type is stored and fetched`() async throws {
        let setup = try Conformance()
        let target = try await setup.database.save(CKRecord("target"))
        let record = CKRecord("a")
        let date = Date(timeIntervalSince1970: 1_767_225_600.5)
        let place = CLLocation(latitude: 48.8566, longitude: 2.3522)
        record["string"] = "Grüße 🌍"
        record["int"] = Int64.max
        record["double"] = 0.1
        record["bool"] = true
        record["data"] = Data([0, 255])
        record["date"] = date
        record["place"] = place
        record["link"] = CKRecord.Reference(record: target, action: .none)
        record["strings"] = ["a", "b"]
        record["numbers"] = [1, 2.5]
        record["dates"] = [date]
        record["links"] = [CKRecord.Reference(record: target, action: .none)]
        try await setup.database.save(record)
        let fetched = try await setup.database.record(for: record.recordID)
        #expect(fetched["string"] == "Grüße 🌍" && fetched["int"] == Int64.max && fetched["double"] == 0.1)
        #expect(fetched["bool"] as? Bool == true && fetched["data"] == Data([0, 255]) && fetched["date"] == date)
        let location = try #require(fetched["place"] as? CLLocation)
        #expect(location.coordinate.latitude == 48.8566 && location.coordinate.longitude == 2.3522)
        #expect((fetched["link"] as? CKRecord.Reference)?.recordID == target.recordID)
        #expect(fetched["strings"] as? [String] == ["a", "b"] && fetched["numbers"] as? [Double] == [1, 2.5])
        #expect(fetched["dates"] as? [Date] == [date])
        #expect((fetched["links"] as? [CKRecord.Reference])?.map(\.recordID) == [target.recordID])
        #expect(Set(fetched.allKeys()) == Set(record.allKeys()) && fetched.changedKeys().isEmpty)
    }

    @Test func `encrypted values come back from the private database, and the public one refuses them`()
        async throws
    {
        let setup = try Conformance()
        let record = CKRecord("a", type: "Property")
        record.encryptedValues["ownerName"] = "Maria Ruiz"
        try await setup.database.save(record)
        let fetched = try await setup.database.record(for: record.recordID)
        #expect(fetched.encryptedValues["ownerName"] as? NSString == "Maria Ruiz")
        let other = CKRecord("b", type: "Property")
        other.encryptedValues["ownerName"] = "Maria Ruiz"
        #expect(await code { try await setup.container.publicCloudDatabase.save(other) } == .invalidArguments)
    }

    @Test func `a field that exists already cannot be encrypted`() async throws {
        let setup = try Conformance()
        let plain = CKRecord("a")
        plain["name"] = "x"
        try await setup.database.save(plain)
        let encrypted = CKRecord("b")
        encrypted.encryptedValues["name"] = "x"
        #expect(await code { try await setup.database.save(encrypted) } == .invalidArguments)
    }

    @Test func `a record rebuilt from its system fields alone syncs with the server's by its change tag`() async throws
    {
        let setup = try Conformance()
        let record = CKRecord("a")
        record["x"] = 1
        try await setup.database.save(record)
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.requiresSecureCoding = true
        let rebuilt = try #require(CKRecord(coder: unarchiver))
        #expect(rebuilt.allKeys().isEmpty && rebuilt.recordChangeTag == record.recordChangeTag)
        rebuilt["y"] = 2
        try await setup.database.save(rebuilt)
        let fetched = try await setup.database.record(for: record.recordID)
        #expect(fetched["x"] as? Int == 1 && fetched["y"] as? Int == 2)
        rebuilt["y"] = 3
        record["y"] = 4
        #expect(await code { try await setup.database.save(record) } == .serverRecordChanged)
    }
}
