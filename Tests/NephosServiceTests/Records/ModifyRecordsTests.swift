import NephosWire
import Testing

@testable import NephosService

@Suite struct ModifyRecordsTests {
    @Test func `a saved record is found with its fields, dates, users and a tag that every save changes`() async throws
    {
        let database = TestDatabase(TestCloud())
        let saved = try #require(
            try await database.modify([.create("a", ["title": .string("Dusk"), "year": .int64(1931)])])[0].record)
        database.cloud.advance(milliseconds: 5)
        let user = try await database.cloud.service.currentUser(database.context).userRecordName
        #expect(saved.created?.timestamp == saved.modified?.timestamp)
        #expect(saved.created?.userRecordName == user)
        // Clients of CloudKit Web Services take a timestamp without one for malformed.
        #expect(saved.created?.deviceID == "2" && saved.modified?.deviceID == "2")
        let changed = try #require(try await database.modify([.update(saved, ["year": .int64(1932)])])[0].record)
        #expect(changed.recordChangeTag != saved.recordChangeTag)
        #expect(changed.created == saved.created)
        #expect((changed.modified?.timestamp ?? 0) - (saved.modified?.timestamp ?? 0) == 5)
        let found = try #require(try await database.lookup("a")[0].record)
        #expect(found == changed)
        let fields = try found.fields.decoded()
        #expect(fields["title"]?.value == .string("Dusk") && fields["year"]?.value == .int64(1932))
    }

    @Test func `an update writes only the fields it mentions and clears those it sets to null`() async throws {
        let database = TestDatabase(TestCloud())
        _ = try await database.modify([.create("a", ["x": .int64(1), "y": .int64(2), "z": .int64(3)])])
        _ = try await database.modify([.force("a", ["x": .int64(10), "y": nil])])
        let fields = try #require(try await database.lookup("a")[0].record).fields.decoded()
        #expect(fields["x"]?.value == .int64(10) && fields["y"] == nil && fields["z"]?.value == .int64(3))
    }

    @Test(arguments: [RecordOperation.OperationType.forceUpdate, .forceReplace])
    func `a record overwritten by another type has that type everywhere`(
        operation: RecordOperation.OperationType
    ) async throws {
        let database = try await TestDatabase(TestCloud()).making(zone: "Z")
        let service = database.cloud.service
        func found(_ type: String, _ field: String) async throws -> [String] {
            let query = Query(recordType: type, filterBy: [Filter(.field(field), .greaterThan, .int64(0))])
            let request = QueryRecordsRequest(query: query, zoneID: database.zoneID)
            let results = try await service.queryRecords(request, database.context).records
            return results.compactMap { $0.record?.recordName }.sorted()
        }
        _ = try await database.modify([
            .create("a", ["x": .int64(1), "y": .int64(2)]), .create("b", ["x": .int64(1)]),
            .create("c", ["z": .int64(1)], type: "Task"),
        ])
        // So that both types have indexes.
        #expect(try await found("Note", "x") == ["a", "b"])
        #expect(try await found("Task", "z") == ["c"])
        let before = try #require(try await database.lookup("a")[0].record)
        let saved = try await database.modify([.make(operation, "a", ["z": .int64(3)], type: "Task")])[0].record
        #expect(saved?.recordType == "Task" && saved?.created == before.created)
        let after = try #require(try await database.lookup("a")[0].record)
        #expect(after.recordType == "Task" && after.recordChangeTag != before.recordChangeTag)
        #expect(try after.fields.decoded().entries.map(\.name) == ["z"])
        #expect(try await found("Note", "x") == ["b"])
        #expect(try await found("Task", "z") == ["a", "c"])
        // A tag of the old record conflicts, and so does its name, with the record as it is.
        for refused in try await database.modify([.update(before, ["x": .int64(9)])])
            + database.modify([.create("a", ["x": .int64(9)])])
        {
            #expect(refused.error?.clientErrorCode == 14)
            #expect(refused.error?.serverRecord.first?.recordType == "Task")
        }
    }

    @Test func `a replacement drops the fields and the parent it does not mention`() async throws {
        let database = try await TestDatabase(TestCloud()).making(zone: "Z")
        _ = try await database.modify([
            .create("root"), .create("a", ["x": .int64(1), "y": .int64(2)], parent: "root"),
        ])
        let replaced = try await database.modify([.make(.forceReplace, "a", ["x": .int64(5)], type: "Note")])
        let record = try #require(replaced[0].record)
        let fields = try record.fields.decoded()
        #expect(fields.count == 1 && fields["x"]?.value == .int64(5))
        #expect(record.parent == nil)
    }

    @Test func `a replacement keeps named fields unchanged in a record of its type`() async throws {
        let database = try await TestDatabase(TestCloud()).making(zone: "Z")
        _ = try await database.modify([.create("a", ["x": .int64(1), "y": .int64(2), "z": .string("old")])])
        func replace(_ fields: [String: FieldValue?], type: String = "Note") async throws -> RecordFields {
            var operation = RecordOperation.make(.forceReplace, "a", fields, type: type)
            operation.record.keep = ["x", "y", "none"]
            let answered = try #require(try await database.modify([operation])[0].record)
            let stored = try #require(try await database.lookup("a")[0].record)
            #expect(answered == stored)
            return try stored.fields.decoded()
        }
        var fields = try await replace(["x": .int64(5), "w": .int64(6)])
        #expect(fields.entries.map(\.name) == ["w", "x", "y"])
        #expect(["w", "x", "y"].map { fields[$0]?.value } == [.int64(6), .int64(5), .int64(2)])
        // What it sends it does not keep, also where that is nothing.
        fields = try await replace(["x": nil])
        #expect(fields.entries.map(\.name) == ["y"])
        #expect(try await replace([:], type: "Task").isEmpty)
        _ = try await database.modify([.delete("a")])
        #expect(try await replace(["w": .int64(1)]).entries.map(\.name) == ["w"], "of a record that is gone")
    }

    @Test func `a conflict carries the server's record on request, and changes nothing`() async throws {
        let database = TestDatabase(TestCloud())
        let first = try #require(try await database.modify([.create("a", ["x": .int64(1)])])[0].record)
        let second = try #require(try await database.modify([.update(first, ["x": .int64(2)])])[0].record)
        let conflict = try #require(try await database.modify([.update(first, ["x": .int64(3)])])[0].error)
        #expect(conflict.serverErrorCode == .conflict && conflict.clientErrorCode == 14)
        #expect(conflict.reason == "client oplock error updating record")
        #expect(conflict.serverRecord == [second])
        #expect(try await database.lookup("a")[0].record == second)
        let again = try #require(try await database.modify([.create("a")])[0].error)
        #expect(again.serverErrorCode == .exists && again.serverRecord == [second])
        let plain = ModifyRecordsRequest(operations: [.update(first, ["x": .int64(3)])])
        let web = try await database.cloud.service.modifyRecords(plain, database.context)
        #expect(web.records[0].error?.serverRecord == [])
    }

    @Test func `in a custom zone a batch is all or nothing`() async throws {
        let database = try await TestDatabase(TestCloud()).making(zone: "Z")
        _ = try await database.modify([.create("old")])
        let results = try await database.modify([.create("new"), .create("old"), .delete("gone")])
        #expect(results.map(\.summary) == ["error 22", "error 14", "error 22"])
        #expect(results[0].error?.serverErrorCode == .atomicError)
        #expect(try await database.existing("new", "old") == ["old"])
        let independent = try await database.modify([.create("new"), .create("old")], atomic: false)
        #expect(independent.map(\.summary) == ["saved", "error 14"])
    }

    @Test func `in the default zone each item is independent, even in an atomic request`() async throws {
        let database = TestDatabase(TestCloud())
        _ = try await database.modify([.create("old")])
        let results = try await database.modify([.create("new"), .create("old")], atomic: true)
        #expect(results.map(\.summary) == ["saved", "error 14"])
    }

    @Test func `one request may span zones, and a failure in one leaves the others alone`() async throws {
        let cloud = TestCloud()
        let first = try await TestDatabase(cloud).making(zone: "A")
        _ = try await TestDatabase(cloud).making(zone: "B")
        func create(_ name: String, _ zone: String) -> RecordOperation {
            var operation = RecordOperation.create(name)
            operation.record.zoneID = ZoneIDDictionary(zoneName: zone)
            return operation
        }
        _ = try await first.modify([create("x", "A")])
        let results = try await first.modify([
            create("x", "A"), create("y", "A"), create("x", "B"), create("z", "C"),
        ])
        #expect(results.map(\.summary) == ["error 14", "error 22", "saved", "error 26"])
        #expect(results[2].record?.zoneID?.zoneName == "B")
    }

    @Test func `a missing zone is the request's error for Web clients, and each item's for the library`() async throws {
        var database = TestDatabase(TestCloud())
        database.zone = "Nowhere"
        let request = ModifyRecordsRequest(operations: [.create("a")], zoneID: database.zoneID)
        await #expect(throws: missingZone("Nowhere", "save the zone before the records in it")) {
            try await database.cloud.service.modifyRecords(request, database.context)
        }
        await #expect(throws: missingZone("Nowhere", "the account has no zone of that name")) {
            try await database.lookup("a")
        }
        let results = try await database.modify([.create("a"), .delete("b")])
        #expect(results.map(\.summary) == ["error 26", "error 26"])
    }

    @Test func `a malformed operation is the request's error for Web clients, and its item's for the library`()
        async throws
    {
        let database = TestDatabase(TestCloud())
        let operations: [RecordOperation] = [.create("fine"), .create("_hidden")]
        #expect(try await database.modify(operations).map(\.summary) == ["saved", "error 12"])
        _ = try await database.modify([.delete("fine")])
        let error = await #expect(throws: ServiceError.self) {
            try await database.cloud.service.modifyRecords(
                ModifyRecordsRequest(operations: operations), database.context)
        }
        #expect(error?.reason.hasPrefix("operations[1]: recordName '_hidden'") == true)
        #expect(try await database.existing("fine") == [])
    }

    @Test func `a schema violation is the item's error for every client`() async throws {
        let database = TestDatabase(TestCloud())
        _ = try await database.modify([.create("a", ["x": .string("text")])])
        let operations: [RecordOperation] = [.create("b"), .force("a", ["x": .int64(1)])]
        let results = try await database.cloud.service.modifyRecords(
            ModifyRecordsRequest(operations: operations), database.context
        ).records
        #expect(results.map(\.summary) == ["saved", "error 12"])
        #expect(results[1].error?.reason.hasPrefix("invalid attempt to set value type INT64") == true)
        #expect(try await database.existing("b") == ["b"])
    }

    @Test func `a record named twice is refused`() async {
        let database = TestDatabase(TestCloud())
        await #expect(throws: ServiceError.invalid("record 'a' appears in more than one operation")) {
            try await database.modify([.create("a"), .delete("a")])
        }
    }

    @Test func `a record created without a name gets one`() async throws {
        let database = TestDatabase(TestCloud())
        let name = try #require(try await database.modify([.create(nil)])[0].record?.recordName)
        #expect(name.count == 36)
        #expect(try await database.existing(name) == [name])
    }

    @Test func `names are unique in a zone, and each zone, scope and account has its own`() async throws {
        let cloud = TestCloud()
        let zone = try await TestDatabase(cloud).making(zone: "Z")
        let databases = [
            TestDatabase(cloud), zone, TestDatabase(cloud, "other"), TestDatabase(cloud, "me", .public),
        ]
        for database in databases { #expect(try await database.modify([.create("a")])[0].summary == "saved") }
        _ = try await zone.modify([.delete("a")])
        #expect(try await TestDatabase(cloud).existing("a") == ["a"])
        #expect(try await TestDatabase(cloud, "other", .public).existing("a") == ["a"])
    }

    @Test func `desired keys limit the returned fields`() async throws {
        let database = TestDatabase(TestCloud())
        _ = try await database.modify([.create("a", ["x": .int64(1), "y": .int64(2)])])
        let request = LookupRecordsRequest(records: [.init(recordName: "a")], desiredKeys: ["y", "nothing"])
        let record = try await database.cloud.service.lookupRecords(request, database.context).records[0].record
        #expect(try record?.fields.decoded().entries.map(\.name) == ["y"])
    }

    @Test func `a missing record is an item's error at its index`() async throws {
        let database = TestDatabase(TestCloud())
        _ = try await database.modify([.create("a")])
        let results = try await database.lookup("missing", "a", "missing")
        #expect(results.map(\.summary) == ["error 11", "saved", "error 11"])
        #expect(results[0].error?.reason == "Record not found" && results[0].error?.recordName == "missing")
    }
}
