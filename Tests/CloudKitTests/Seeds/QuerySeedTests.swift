import CloudKit
import Testing

/// What Apple's pages on `CKRecord`, `CKRecord.Reference` and `SystemFieldKey` say of looking for records.
@Suite struct QuerySeedTests {
    private func found(
        _ database: CKDatabase, _ type: String, _ format: String, _ values: Any...
    ) async throws -> [String] {
        let query = CKQuery(recordType: type, predicate: NSPredicate(format: format, argumentArray: values))
        return try await database.records(matching: query).matchResults.map(\.0.recordName).sorted()
    }

    @Test(arguments: Transport.allCases)
    func `in search predicates, the search code looks only at the ID value in the reference object`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let (list, other) = (note("list", "List"), note("other", "List"))
            let items = (1...3).map { note("item\($0)", "Item").owned(by: list, key: "owningList") }
            let plain = note("plain", "Item").owned(by: list, .none, key: "owningList")
            let stray = note("stray", "Item").owned(by: other, key: "owningList")
            try await database.saveAll([list, other, plain, stray] + items)
            let listID = list.recordID
            for action in [CKRecord.ReferenceAction.deleteSelf, .none] {
                let recordToMatch = CKRecord.Reference(recordID: listID, action: action)
                #expect(
                    try await found(database, "Item", "owningList == %@", recordToMatch) == [
                        "item1", "item2", "item3", "plain",
                    ])
            }
            #expect(try await found(database, "Item", "owningList == %@", other) == ["stray"])
        }
    }

    @Test(arguments: Transport.allCases)
    @available(*, deprecated, message: "the sample uses blocks that were replaced")
    func `executing the query operation returns the matching records to the completion block`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let list = note("list", "List")
            try await database.saveAll([list, note("item", "Item").owned(by: list, key: "owningList")])
            let recordToMatch = CKReference(recordID: list.recordID, action: .deleteSelf)
            let predicate = NSPredicate(format: "owningList == %@", recordToMatch)
            let query = CKQuery(recordType: "Item", predicate: predicate)
            let names: [String] = await withCheckedContinuation { continuation in
                var names: [String] = []
                let queryOp = CKQueryOperation(query: query)
                queryOp.recordFetchedBlock = { names.append($0.recordID.recordName) }
                queryOp.queryCompletionBlock = { cursor, error in
                    continuation.resume(returning: cursor == nil && error == nil ? names : [])
                }
                database.add(queryOp)
            }
            #expect(names == ["item"])
        }
    }

    @Test(arguments: Transport.allCases)
    func `fields of all types are searchable unless otherwise noted, and data fields aren't`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let date = Date(timeIntervalSince1970: 1_700_000_000)
            let record = note("match")
            record["text"] = "red"
            record["number"] = 7
            record["fraction"] = 2.5
            record["flag"] = true
            record["date"] = date
            record["place"] = CLLocation(latitude: 10, longitude: 20)
            record["link"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "target"), action: .none)
            record["texts"] = ["red", "blue"]
            record["numbers"] = [1, 2]
            record["data"] = Data([1])
            try await database.saveAll([record, note("nothing")])
            // The server indexes all fields during development, and at once.
            #expect(try await found(database, "Note", "text == %@", "red") == ["match"])
            #expect(try await found(database, "Note", "text BEGINSWITH %@", "re") == ["match"])
            #expect(try await found(database, "Note", "number > %@", 6) == ["match"])
            #expect(try await found(database, "Note", "fraction == %@", 2.5) == ["match"])
            #expect(try await found(database, "Note", "flag == %@", true) == ["match"])
            #expect(try await found(database, "Note", "date <= %@", date) == ["match"])
            let near = "distanceToLocation:fromLocation:(place, %@) < 100"
            #expect(try await found(database, "Note", near, CLLocation(latitude: 10, longitude: 20)) == ["match"])
            #expect(try await found(database, "Note", "link == %@", CKRecord.ID(recordName: "target")) == ["match"])
            #expect(try await found(database, "Note", "texts CONTAINS %@", "blue") == ["match"])
            #expect(try await found(database, "Note", "numbers CONTAINS %@", 2) == ["match"])
            #expect(try await found(database, "Note", "TRUEPREDICATE") == ["match", "nothing"])
            await expectFailure(.invalidArguments) {
                _ = try await found(database, "Note", "data == %@", Data([1]))
            }
        }
    }

    @Test(arguments: Transport.allCases)
    func `use the value parent of SystemFieldKey in a predicate to reference a record's parent property`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            let (root, child, single) = (note("root", in: zone), note("child", in: zone), note("single", in: zone))
            child.setParent(root)
            try await database.saveAll([root, child, single])
            let predicate = NSPredicate(
                format: "%K == %@",
                argumentArray: [
                    CKRecord.SystemFieldKey.parent, CKRecord.Reference(record: root, action: .none),
                ])
            let query = CKQuery(recordType: "Note", predicate: predicate)
            let results = try await database.records(matching: query, inZoneWith: zone).matchResults
            #expect(results.map(\.0.recordName) == ["child"])
        }
    }

    @Test(arguments: Transport.allCases)
    func `use the value share of SystemFieldKey in a predicate to reference a record's share property`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            let (root, child, other, single) = (
                note("root", in: zone), note("child", in: zone), note("other", in: zone), note("single", in: zone)
            )
            child.setParent(root)
            let (share, second) = (CKShare(rootRecord: root), CKShare(rootRecord: other))
            try await database.saveAll([root, child, other, single, share, second])
            func found(_ share: CKShare) async throws -> [String] {
                let predicate = NSPredicate(
                    format: "%K == %@",
                    argumentArray: [
                        CKRecord.SystemFieldKey.share, CKRecord.Reference(recordID: share.recordID, action: .none),
                    ])
                let query = CKQuery(recordType: "Note", predicate: predicate)
                return try await database.records(matching: query, inZoneWith: zone).matchResults.map(\.0.recordName)
            }
            #expect(try await found(share) == ["root"])
            #expect(try await found(second) == ["other"])
            try await database.deleteRecord(withID: share.recordID)
            #expect(try await found(share) == [])
        }
    }

    @Test(arguments: Transport.allCases)
    func `SystemFieldKey has names for the metadata, by which records are found`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = try await database.save(note("n"))
            let created = try #require(record.creationDate)
            typealias Key = CKRecord.SystemFieldKey
            #expect(try await found(database, "Note", "%K == %@", Key.recordID, record.recordID) == ["n"])
            #expect(try await found(database, "Note", "%K == %@", Key.creationDate, created) == ["n"])
            #expect(try await found(database, "Note", "%K >= %@", Key.modificationDate, created) == ["n"])
            let user = try #require(record.creatorUserRecordID)
            #expect(try await found(database, "Note", "%K == %@", Key.creatorUserRecordID, user) == ["n"])
            #expect(try await found(database, "Note", "%K == %@", Key.lastModifiedUserRecordID, user) == ["n"])
        }
    }
}
