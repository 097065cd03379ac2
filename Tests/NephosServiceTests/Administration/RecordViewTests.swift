import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// The views of an administrator on records.
@Suite struct RecordViewTests {
    /// The names of the records, but for the account's user record.
    private static func names(_ response: ListRecordsResponse) throws -> [String] {
        try decoded(response).records.compactMap(\.record).filter { $0.recordType != SystemRecordType.user }
            .map(\.recordName)
    }

    /// The response as a client reads it.
    private static func decoded(_ response: ListRecordsResponse) throws -> ListRecordsResponse {
        try ListRecordsResponse(decoding: response.encoded())
    }

    private func list(_ cloud: TestCloud, _ request: ListRecordsRequest) async throws -> ListRecordsResponse {
        try await cloud.service.listRecords(request, cloud.context(nil, .public))
    }

    @Test func `a list has the records of one zone of one account, the last changed first`() async throws {
        let cloud = TestCloud()
        let (mei, bob) = (try await TestDatabase(cloud, "mei").making(zone: "Z"), TestDatabase(cloud, "bob"))
        let saved = try await mei.modify([.create("a"), .create("b", type: "List"), .create("c")])
        _ = try await bob.modify([.create("d")])
        _ = try await TestDatabase(cloud, "bob", .public).modify([.create("e")])
        _ = try await mei.modify([.update(try #require(saved[0].record), ["n": .int64(1)]), .delete("c")])
        let zone = AdministeredZone(account: "mei", zoneName: "Z")
        #expect(try Self.names(try await list(cloud, ListRecordsRequest(zone))) == ["a", "b"])
        #expect(try Self.names(try await list(cloud, ListRecordsRequest(zone, recordType: "List"))) == ["b"])
        #expect(try Self.names(try await list(cloud, ListRecordsRequest(AdministeredZone(account: "bob")))) == ["d"])
        #expect(try Self.names(try await list(cloud, ListRecordsRequest(AdministeredZone(account: nil)))) == ["e"])
        await cloud.service.close()
    }

    @Test func `pages of a list have every record once, and a marker is good for its zone alone`() async throws {
        let cloud = TestCloud()
        let (mei, bob) = (TestDatabase(cloud, "mei"), TestDatabase(cloud, "bob"))
        for database in [mei, bob] {
            for first in stride(from: 0, to: 210, by: 105) {
                _ = try await database.modify((first..<first + 105).map { .create("n\($0)") })
            }
        }
        var request = ListRecordsRequest(AdministeredZone(account: "mei"))
        var (found, pages): ([String], Int) = ([], 0)
        while true {
            let page = try await list(cloud, request)
            (found, pages) = (found + (try Self.names(page)), pages + 1)
            request.continuationMarker = page.continuationMarker
            if page.continuationMarker == nil { break }
        }
        #expect(found == (0..<210).reversed().map { "n\($0)" } && pages == 3)
        request = ListRecordsRequest(AdministeredZone(account: "mei"))
        let marker = try #require(try await list(cloud, request).continuationMarker)
        for (account, marker) in [("bob", marker), ("mei", marker + "A"), ("mei", "")] {
            var request = ListRecordsRequest(AdministeredZone(account: account))
            request.continuationMarker = marker
            let error = await #expect(throws: ServiceError.self) { try await list(cloud, request) }
            #expect(error?.clientCode == .invalidArguments)
        }
        await cloud.service.close()
    }

    @Test func `a sorted page has the first of the records that it reads, in either direction`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud, "mei")
        let numbers = [7, 3, 11, 1, 9, 5]
        _ = try await database.modify(numbers.map { .create("n\($0)", ["n": .int64(Int64($0))]) } + [.create("none")])
        for (ascending, names) in [
            (true, ["none", "n1", "n3", "n5"]), (false, ["n11", "n9", "n7", "n5"]),
        ] {
            var request = ListRecordsRequest(AdministeredZone(account: "mei"), recordType: "Note")
            request.sortBy = [QuerySortDescriptor(.field("n"), ascending: ascending)]
            request.resultsLimit = 4
            let page = try await list(cloud, try ListRecordsRequest(decoding: request.encoded()))
            #expect(try Self.names(page) == names)
            #expect(page.continuationMarker == nil && page.scanned >= 7)
        }
        await cloud.service.close()
    }

    @Test func `a page ends at the bound of what it reads, and says how much that was`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud, "mei")
        _ = try await database.modify([.create("wanted", ["n": .int64(7)])])
        let count = Limits.browsedRecords + 10
        for first in stride(from: 0, to: count, by: 400) {
            _ = try await database.modify((first..<min(first + 400, count)).map { .create("n\($0)") })
        }
        let filter = Filter(.field("n"), .equals, .int64(7))
        var request = ListRecordsRequest(AdministeredZone(account: "mei"), filterBy: [filter])
        let first = try await list(cloud, request)
        #expect(try Self.names(first) == [] && first.scanned == Limits.browsedRecords)
        request.continuationMarker = first.continuationMarker
        let second = try await list(cloud, request)
        #expect(try Self.names(second) == ["wanted"] && second.scanned == 12 && second.continuationMarker == nil)
        await cloud.service.close()
    }

    @Test func `filters beyond their bounds are refused`() async throws {
        let cloud = TestCloud()
        _ = try await TestDatabase(cloud, "mei").modify([.create("a", ["n": .int64(1)])])
        let (place, one) = (AdministeredZone(account: "mei"), Filter(.field("n"), .equals, .int64(1)))
        func list(_ filters: [Filter]) async throws -> [String] {
            try Self.names(try await self.list(cloud, ListRecordsRequest(place, filterBy: filters)))
        }
        #expect(try await list(Array(repeating: one, count: Limits.filtersPerList)) == ["a"])
        let values = FieldValue.list(of: .int64, Array(repeating: .int64(1), count: 251))
        for filters in [
            Array(repeating: one, count: Limits.filtersPerList + 1), [Filter(.field("n"), .in, values)],
            [Filter(.field("n"), .equals, .string(String(repeating: "x", count: 200_000)))],
        ] {
            let error = await #expect(throws: ServiceError.self) { _ = try await list(filters) }
            #expect(error?.clientCode == .limitExceeded)
        }
        await cloud.service.close()
    }

    @Test func `a type's filters that cannot apply are refused, and no index is needed`() async throws {
        let cloud = TestCloud()
        let schema =
            "DEFINE SCHEMA RECORD TYPE Note (n NUMBER, s STRING, tags LIST<STRING>, day TIMESTAMP, \"___recordID\" REFERENCE);"
        #expect(try await cloud.service.importSchema(schema, cloud.context()).findings == [])
        let tags = FieldValue.list(of: .string, [.string("a1")])
        _ = try await TestDatabase(cloud, "mei").modify([
            .create("a", ["n": .int64(1), "s": .string("x"), "tags": tags, "day": .timestamp(1000)])
        ])
        func list(_ filter: Filter, type: String? = "Note") async throws -> [String] {
            let request = ListRecordsRequest(AdministeredZone(account: "mei"), recordType: type, filterBy: [filter])
            return try Self.names(try await self.list(cloud, request))
        }
        for filter in [
            Filter(.field("n"), .equals, .int64(1)), Filter(.field("n"), .lessThan, .double(1.5)),
            Filter(.field("s"), .beginsWith, .string("x")), Filter(.field("tags"), .listContains, .string("a1")),
            Filter(.field("day"), .equals, Field(.int64(1000), hasDeclaredType: false)),
        ] { #expect(try await list(filter) == ["a"], "\(filter)") }
        for (filter, reason) in [
            (
                Filter(.field("tags"), .equals, .string("a1")),
                "LIST<STRING> and cannot be queried using filter type EQUALS"
            ),
            (
                Filter(.field("n"), .beginsWith, .string("1")),
                "NUMBER and cannot be queried using filter type BEGINS_WITH"
            ),
            (
                Filter(.field("s"), .listContains, .string("x")),
                "STRING and cannot be queried using filter type LIST_CONTAINS"
            ),
            (Filter(.field("n"), .equals, .string("1")), "filter value type STRING"),
            (Filter(.field("none"), .equals, .string("x")), "Field 'none' is unknown: the type 'Note' has no field"),
        ] {
            let error = await #expect(throws: ServiceError.self) { _ = try await list(filter) }
            #expect(error?.code == .badRequest && error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
            #expect(try await list(filter, type: nil) == [], "of any type")
        }
        await cloud.service.close()
    }

    @Test func `a record is shown with the records that refer to it, but for references without an action`()
        async throws
    {
        let cloud = TestCloud()
        let database = try await TestDatabase(cloud, "mei").making(zone: "Z")
        _ = try await database.modify([
            .create("root"), .create("child", parent: "root"), .create("owned", ["o": .owner("root")]),
            .create("linked", ["l": .link("root")]),
        ])
        let place = AdministeredZone(account: "mei", zoneName: "Z")
        let context = cloud.context(nil, .public)
        let shown = try await cloud.service.showRecord(ShowRecordRequest(place, recordName: "root"), context)
        #expect(shown.record.record?.recordName == "root" && shown.isComplete)
        #expect(
            Set(shown.referredBy) == [
                .init(recordName: "child", kind: "PARENT"), .init(recordName: "owned", kind: "DELETE_SELF"),
            ])
        #expect(try ShowRecordResponse(decoding: shown.encoded()).referredBy == shown.referredBy)
        await #expect(throws: ServiceError.recordNotFound) {
            _ = try await cloud.service.showRecord(ShowRecordRequest(place, recordName: "none"), context)
        }
        await cloud.service.close()
    }

    @Test func `a look makes no container, account, zone, type or index`() async throws {
        let cloud = TestCloud()
        _ = try await TestDatabase(cloud, "mei").modify([.create("a")])
        func state() async throws -> [String] {
            try await cloud.withStore { store in
                try await store.engine.read { reader in
                    try reader.accounts(after: 0, limit: 9).map(\.name) + reader.recordTypes()
                        + reader.zones(after: 0, limit: 9).map(\.name) + ["\(try reader.version(of: .catalog))"]
                }
            }
        }
        let before = try await state()
        for (account, zone) in [("bob", "Z"), ("mei", "Z"), ("bob", ZoneIDDictionary.defaultZoneName)] {
            await #expect(throws: ServiceError.self) {
                _ = try await list(cloud, ListRecordsRequest(AdministeredZone(account: account, zoneName: zone)))
            }
        }
        let filter = Filter(.field("unknown"), .equals, .string("x"))
        let request = ListRecordsRequest(AdministeredZone(account: "mei"), recordType: "None", filterBy: [filter])
        #expect(try Self.names(try await list(cloud, request)) == [])
        let other = cloud.context(nil, .public, container: "iCloud.other")
        await #expect(throws: ServiceError.self) {
            _ = try await cloud.service.listRecords(ListRecordsRequest(AdministeredZone(account: nil)), other)
        }
        #expect(try await state() == before)
        #expect(try await cloud.service.stores.known().map(\.container) == ["iCloud.test"])
        await cloud.service.close()
    }
}
