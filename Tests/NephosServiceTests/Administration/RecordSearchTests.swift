import NephosWire
import Testing

@testable import NephosService

/// An administrator's search of records by their name.
@Suite struct RecordSearchTests {
    private let cloud = TestCloud()

    private func find(_ name: String, _ database: String? = nil, _ marker: String? = nil) async throws
        -> FindRecordsResponse
    {
        try await cloud.service.findRecords(
            FindRecordsRequest(recordName: name, database: database, continuationMarker: marker),
            cloud.context(nil, .public))
    }

    @Test
    func
        `a record is found by its name in each account's zones and in the public database, and not once it is deleted`()
        async throws
    {
        for account in ["mei", "tom"] {
            _ = try await TestDatabase(cloud, account).modify([.create("a")])
            _ = try await TestDatabase(cloud, account).making(zone: "Z").modify([.create("a"), .create(account)])
        }
        _ = try await TestDatabase(cloud, "mei", .public).modify([.create("a")])
        let found = try await find("a")
        #expect(
            Set(found.records.map { "\($0.account ?? "") \($0.zoneName) \($0.recordType)" }) == [
                " _defaultZone Note", "mei _defaultZone Note", "mei Z Note", "tom _defaultZone Note", "tom Z Note",
            ])
        #expect(found.continuationMarker == nil)
        #expect(try await find("a", "public").records.map(\.account) == [nil])
        #expect(try await find("tom").records == [.init(account: "tom", zoneName: "Z", recordType: "Note")])
        for name in ["none", "", "a\u{0}", String(repeating: "a", count: 300)] {
            #expect(try await find(name).records == [])
        }
        _ = try await TestDatabase(cloud, "tom", zone: "Z").modify([.delete("tom")])
        #expect(try await find("tom").records == [])
        _ = try await cloud.service.deleteAccount(DeleteAccountRequest(account: "mei"), cloud.context(nil, .public))
        #expect(Set(try await find("a").records.map(\.account)) == [nil, "tom"])
        await #expect(throws: ServiceError.self) { try await find("a", "shared") }
    }

    @Test func `a search goes on after a page of zones, by a marker of its own alone`() async throws {
        let database = TestDatabase(cloud, "mei")
        for start in stride(from: 0, through: Limits.zonesPerPage, by: 200) {
            let operations = (start..<start + 200).map {
                ZoneOperation(operationType: .create, zoneID: ZoneIDDictionary(zoneName: "Z\($0)"))
            }
            _ = try await cloud.service.modifyZones(ModifyZonesRequest(operations: operations), database.context)
        }
        let last = TestDatabase(cloud, "mei", zone: "Z\(Limits.zonesPerPage)")
        #expect(try await last.modify([.create("a")]).allSatisfy { !$0.isFailure })
        let first = try await find("a")
        #expect(first.records == [] && first.continuationMarker != nil)
        let second = try await find("a", nil, first.continuationMarker)
        #expect(second.records.map(\.zoneName) == ["Z\(Limits.zonesPerPage)"] && second.continuationMarker == nil)
        await #expect(throws: ServiceError.self) { try await find("a", nil, "AAAA") }
    }

    // MARK: By a value

    private func search(_ value: String, _ database: String? = nil, _ marker: String? = nil) async throws
        -> FindRecordsResponse
    {
        try await cloud.service.findRecords(
            FindRecordsRequest(value: value, database: database, continuationMarker: marker),
            cloud.context(nil, .public))
    }

    @Test func `a record is found by a part of a text or by a number, in each database, and in no encrypted field`()
        async throws
    {
        let fields: [String: FieldValue] = ["title": .string("Buy MILK today"), "count": .int64(42)]
        for account in ["mei", "tom"] {
            _ = try await TestDatabase(cloud, account).making(zone: "Z").modify([.create("a", fields)])
        }
        _ = try await TestDatabase(cloud, "mei", .public).modify([
            .create("b", ["tags": .list(of: .string, [.string("x"), .string("milk")])])
        ])
        let found = try await search("milk")
        #expect(
            Set(found.records.map { "\($0.account ?? "") \($0.recordName ?? "") \($0.field ?? ""): \($0.text ?? "")" })
                == [
                    " b tags: milk", "mei a title: Buy MILK today", "tom a title: Buy MILK today",
                ])
        #expect(found.continuationMarker == nil)
        #expect(try await search("milk", "public").records.map(\.recordName) == ["b"])
        #expect(try await search("42").records.map(\.field) == ["count", "count"])
        // Case and normalization of Unicode do not count, and long runs of combining marks take no time.
        let marks = String(repeating: "\u{301}\u{316}", count: 100_000)
        _ = try await TestDatabase(cloud, "tom").modify([.create("m", ["t": .string("CAFE\u{301} " + marks)])])
        #expect(try await search("caf\u{e9}").records.map(\.recordName) == ["m"])
        #expect(try await search("42.0").records.count == 2)
        for value in ["4", "", "bread"] { #expect(try await search(value).records == []) }
        _ = try await TestDatabase(cloud, "tom", zone: "Z").modify([.delete("a")])
        #expect(try await search("milk").records.count == 2)
        await #expect(throws: ServiceError.self) { try await search(String(repeating: "a", count: 101)) }
        await #expect(throws: ServiceError.self) {
            try await cloud.service.findRecords(FindRecordsRequest(), cloud.context(nil, .public))
        }
    }

    @Test func `a search for a value goes on after a page, in the same zone and the next`() async throws {
        for (zone, count) in [("A", Limits.recordsPerList + 1), ("B", Limits.recordsPerList), ("C", 1)] {
            let database = try await TestDatabase(cloud, "mei").making(zone: zone)
            _ = try await database.modify((0..<count).map { .create("\(zone)\($0)", ["title": .string("milk")]) })
        }
        var (names, marker, pages): ([String], String?, Int) = ([], nil, 0)
        repeat {
            let page = try await search("milk", nil, marker)
            names += page.records.compactMap(\.recordName)
            (marker, pages) = (page.continuationMarker, pages + 1)
        } while marker != nil
        #expect(names.count == 202 && Set(names).count == 202)
        #expect(names.first == "A100" && names.last == "C0" && pages == 3)
        for marker in ["AAAA", try #require(try await search("milk").continuationMarker) + "A"] {
            await #expect(throws: ServiceError.self) { try await search("milk", nil, marker) }
        }
    }
}
