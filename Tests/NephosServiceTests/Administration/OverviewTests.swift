import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// What the first view and `nephos status` show of a container.
@Suite struct OverviewTests {
    private func container(_ cloud: TestCloud, records: Int = Limits.overviewRecords) async throws
        -> ServiceOverview.Container
    {
        try #require(try await cloud.service.overview(records: records).containers.first)
    }

    @Test func `an overview has every type of the schema, all accounts, and what came last in each zone`() async throws
    {
        let cloud = TestCloud()
        let tom = try await TestDatabase(cloud, "tom").making(zone: "Z")
        _ = try await tom.modify([.create("old", type: "Errand")])
        _ = try await tom.modify((0..<30).map { .create("n\($0)", type: "Item") })
        let ada = TestDatabase(cloud, "ada")
        _ = try await ada.modify([.create("last", type: "Item"), .create("other", type: "Errand2")])
        _ = try await TestDatabase(cloud, "ada", .public).modify([.create("open", type: "Poster")])
        let part = try await container(cloud, records: 20)
        let types = Dictionary(uniqueKeysWithValues: part.recordTypes.map { ($0.name, $0) })
        #expect(types["Errand"] == .init(name: "Errand", records: 0), "as it was changed before the counted ones")
        #expect(
            types["Errand2"]
                == .init(name: "Errand2", records: 1, database: "private", account: "ada", zone: "_defaultZone"))
        #expect(types["Poster"]?.database == "public" && types["Poster"]?.account == nil)
        let items = try #require(types["Item"])
        #expect(
            items.account == "ada" && items.zone == "_defaultZone",
            "the zone of the newest one, though another has more")
        #expect((2...20).contains(items.records))
        #expect(part.accounts == ["ada", "tom"] && !part.isComplete)
        await cloud.service.close()
    }

    @Test func `an overview counts all records if they are no more than it may, however they are spread`() async throws
    {
        let cloud = TestCloud()
        let tom = try await TestDatabase(cloud, "tom").making(zone: "Z")
        _ = try await tom.modify((0..<30).map { .create("n\($0)") })
        _ = try await TestDatabase(cloud, "ada").modify([.create("a"), .create("b")])
        let whole = try await container(cloud)
        let count = whole.recordTypes.reduce(0) { $0 + $1.records }
        #expect(whole.isComplete && whole.recordTypes.first { $0.name == "Note" }?.records == 32)
        #expect(try await container(cloud, records: count) == whole)
        #expect(try await container(cloud, records: count - 1).isComplete == false)
        await cloud.service.close()
    }

    @Test func `a type without records is in an overview as long as the schema has it`() async throws {
        let cloud = TestCloud()
        let tom = TestDatabase(cloud, "tom")
        _ = try await tom.modify([.create("a", type: "Errand")])
        _ = try await tom.modify([.delete("a")])
        let whole = try await container(cloud)
        #expect(whole.isComplete && whole.recordTypes.contains(.init(name: "Errand", records: 0)))
        await cloud.service.close()
    }
}
