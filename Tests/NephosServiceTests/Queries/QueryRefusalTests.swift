import NephosWire
import Testing

@testable import NephosService

@Suite("Queries that cannot be asked")
struct QueryRefusalTests {
    private func cloud() async throws -> QueryCloud {
        let cloud = QueryCloud()
        try await cloud.makeZones("A")
        try await cloud.modify(
            [
                .create(
                    "n1",
                    [
                        "title": .string("x"), "data": .bytes([1]), "link": .link("n1"),
                        "tags": .list(of: .string, [.string("a")]),
                        "place": .location(LocationValue(latitude: 1, longitude: 1)),
                    ])
            ], zone: "A")
        return cloud
    }

    private func expectRefusal(
        _ query: Query, _ code: ServiceError.ClientCode, _ reason: String, line: SourceLocation = #_sourceLocation
    ) async throws {
        let error = try await cloud().refusal(query, zone: "A")
        #expect(error?.clientCode == code, sourceLocation: line)
        #expect(error?.code == .badRequest, sourceLocation: line)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "no error")", sourceLocation: line)
    }

    private func note(_ key: QueryKey, _ comparator: FilterComparator, _ value: FieldValue) -> Query {
        Query(recordType: "Note", filterBy: [Filter(key, comparator, value)])
    }

    @Test func `a query of a missing type, or of users, is refused`() async throws {
        try await expectRefusal(Query(recordType: "Nothing"), .unknownItem, "Did not find record type: Nothing")
        try await expectRefusal(Query(recordType: "Users"), .invalidArguments, "Can't query system types")
    }

    @Test func `a query that compares lists with too many values is refused`() async throws {
        let values = FieldValue.list(of: .string, (0..<250).map { .string("tag \($0)") })
        let filters = (0..<5).map { _ in Filter(.field("tags"), .listContainsAny, values) }
        let error = try await cloud().refusal(Query(recordType: "Note", filterBy: filters), zone: "A")
        #expect(error?.clientCode == .limitExceeded)
        #expect(error?.reason.contains("compares lists with 1250 values; at most 1000") == true)
    }

    @Test func `unknown or unindexed fields are refused with the remedy`() async throws {
        try await expectRefusal(
            note(.field("missing"), .equals, .int64(1)), .invalidArguments,
            "Field 'missing' is not marked queryable: the type 'Note' has no field of that name")
        try await expectRefusal(
            Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("link"))]), .invalidArguments,
            "Field 'link' is not marked sortable: add SORTABLE to the field 'link' of 'Note' in the schema")
        try await expectRefusal(
            Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("other"))]), .invalidArguments,
            "Field 'other' is not marked sortable")
        try await expectRefusal(
            note(.field("tags"), .containsAnyTokens, .string("a")), .invalidArguments,
            "Field 'tags' is not marked searchable")
        try await expectRefusal(
            note(.field("___etag"), .beginsWith, .int64(1)), .invalidArguments, "Field '___etag'")
    }

    @Test func `mismatched values and comparators are refused`() async throws {
        try await expectRefusal(
            note(.field("title"), .equals, .int64(1)), .invalidArguments,
            "Field 'title' has a value type of STRING and cannot be queried using filter value type INT64")
        try await expectRefusal(
            note(.field("data"), .equals, .bytes([1])), .invalidArguments,
            "Field 'data' has a value type of BYTES and cannot be queried using filter type EQUALS")
        try await expectRefusal(
            note(.field("title"), .listContains, .string("x")), .invalidArguments, "filter type LIST_CONTAINS")
        try await expectRefusal(
            note(.field("tags"), .equals, .string("a")), .invalidArguments,
            "Field 'tags' has a value type of LIST<STRING> and cannot be queried using filter type EQUALS")
        try await expectRefusal(
            Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("place"))]), .invalidArguments,
            "cannot be sorted")
        try await expectRefusal(
            Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("tags"))]), .invalidArguments,
            "cannot be sorted")
    }

    @Test func `encrypted fields cannot be queried, and sorting by one has no effect`() async throws {
        let cloud = QueryCloud()
        let fields = RecordFields([.init(name: "secret", field: Field(.sealed(.string), isEncrypted: true))])
        var note = RecordToModify(recordName: "n1", recordType: "Note", recordChangeTag: nil, fields: fields)
        note.keys = [.sample()]
        _ = try await cloud.service.makeZoneKey(cloud.context)
        _ = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(operations: [
                RecordOperation(operationType: .create, record: note)
            ]), cloud.context)
        let error = await cloud.refusal(self.note(.field("secret"), .equals, .string("x")))
        #expect(
            error?.reason
                == "Field 'secret' has a value type of ENCRYPTED_STRING and cannot be queried using filter type EQUALS")
        #expect(
            try await cloud.all(Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("secret"))])) == ["n1"])
    }

    @Test func `a filter with too many values is refused`() async throws {
        let values = (0...250).map { FieldValue.string("\($0)") }
        try await expectRefusal(
            note(.field("title"), .in, .list(of: .string, values)), .limitExceeded,
            "Query filter exceeds the limit of values: 250 for container 'iCloud.test'")
        let cloud = try await cloud()
        let some = note(.field("title"), .in, .list(of: .string, values.dropLast() + []))
        #expect(try await cloud.all(some, zone: "A") == [])

        let long = note(.field("title"), .equals, .string(String(repeating: "a", count: 131_073)))
        try await expectRefusal(
            long, .limitExceeded,
            "the values of the query's filters have 131073 bytes; at most 131072 are allowed")
    }

    @Test func `a value without a type is read as the field's`() async throws {
        let cloud = QueryCloud()
        try await cloud.modify([.create("n1", ["date": .timestamp(1000)]), .create("n2", ["date": .timestamp(3000)])])
        var filter = Filter(.field("date"), .lessThan, Field(.int64(2000), hasDeclaredType: false))
        #expect(try await cloud.all(Query(recordType: "Note", filterBy: [filter])) == ["n1"])
        filter.fieldValue.hasDeclaredType = true
        #expect(await cloud.refusal(Query(recordType: "Note", filterBy: [filter]))?.clientCode == .invalidArguments)
    }

    @Test func `a number as a string without a type compares as one with a field of numbers`() async throws {
        let cloud = QueryCloud()
        let large: Int64 = 9_007_199_254_740_993
        try await cloud.modify([
            .create("n1", ["date": .timestamp(1000), "n": .int64(large), "title": .string("1")]),
            .create("n2", ["date": .timestamp(3000), "n": .int64(large - 1), "title": .string("2")]),
        ])
        for (field, text) in [("date", "1000"), ("n", "9007199254740993"), ("title", "1")] {
            var filter = Filter(.field(field), .equals, Field(.string(text), hasDeclaredType: false))
            #expect(try await cloud.all(Query(recordType: "Note", filterBy: [filter])) == ["n1"], "\(field)")
            if field == "title" { continue }
            filter.fieldValue.hasDeclaredType = true
            #expect(await cloud.refusal(Query(recordType: "Note", filterBy: [filter]))?.clientCode == .invalidArguments)
            filter.fieldValue = Field(.string("one"), hasDeclaredType: false)
            #expect(await cloud.refusal(Query(recordType: "Note", filterBy: [filter]))?.clientCode == .invalidArguments)
        }
    }

    @Test func `missing zones and continuation markers of other queries are refused`() async throws {
        let cloud = QueryCloud()
        try await cloud.modify((0..<5).map { .create("n\($0)", ["rank": .int64(Int64($0))]) })
        #expect(await cloud.refusal(Query(recordType: "Note"), zone: "Nowhere")?.clientCode == .zoneNotFound)
        let byRank = Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("rank"))])
        let marker = try #require(try await cloud.page(byRank, limit: 2).continuationMarker)
        for (query, marker) in [
            (Query(recordType: "Note"), marker), (byRank, marker + "AAAA"), (byRank, ""), (byRank, "%%%"),
            (byRank, String(marker.dropLast(8))),
        ] {
            let error = await #expect(throws: ServiceError.self) { _ = try await cloud.page(query, marker: marker) }
            #expect(error?.clientCode == .invalidArguments, "\(marker)")
        }
        #expect(try await cloud.page(byRank, limit: 2, marker: marker).summary == ["n2", "n3"])
    }

    @Test func `a missing zone is reported before a missing type`() async throws {
        let cloud = QueryCloud()
        #expect(await cloud.refusal(Query(recordType: "Nothing"), zone: "Nowhere")?.clientCode == .zoneNotFound)
        #expect(await cloud.refusal(Query(recordType: "Nothing"))?.clientCode == .unknownItem)
    }

    @Test func `production queries only declared indexes`() async throws {
        let cloud = QueryCloud(environment: .production)
        #expect(await cloud.refusal(Query(recordType: "Note"))?.reason == "Did not find record type: Note")
    }
}
