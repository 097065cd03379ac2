import NephosWire
import Testing

@testable import NephosService

@Suite struct NearestFirstTests {
    private let nearby = LocationValue(latitude: 0, longitude: 0)

    private func query(sortedAlso: Bool = false) -> Query {
        var sort = [QuerySortDescriptor(.field("place"), relativeLocation: nearby)]
        if sortedAlso { sort.append(QuerySortDescriptor(.field("rank"))) }
        return Query(recordType: "Item", sortBy: sort)
    }

    private func name(_ index: Int) -> String { "r\(10_000 + index)" }

    /// Records on a line to the north, the nearest first.
    private func save(_ count: Int, metresApart: Double, in cloud: QueryCloud) async throws {
        try await cloud.modify(
            (0..<count).map { index in
                let place = LocationValue(latitude: 45 + Double(index) * metresApart / 111_195, longitude: 40)
                return .create(
                    name(index), ["place": .location(place), "rank": .int64(Int64(index))], type: "Item")
            })
    }

    @Test(arguments: [63, 64, 65, 1000], [0, 0.001, 1, 100])
    func `the nearest of a distant crowd cost a few entries for each level of cells`(count: Int, metresApart: Double)
        async throws
    {
        let cloud = QueryCloud()
        try await save(count, metresApart: metresApart, in: cloud)
        var entries = 0
        var names: [String] = []
        var marker: String?
        repeat {
            let page = try await cloud.page(query(), limit: 1, marker: marker, explain: true)
            names += page.summary
            entries += page.explanation?.entriesRead ?? 0
            marker = page.continuationMarker
        } while names.isEmpty && marker != nil
        #expect(names.count == 1 && names[0].hasPrefix(name(0)))
        #expect(entries < 5000)
    }

    @Test(arguments: [99, 100, 101])
    func `a crowd at one location comes page by page, and a second key sorts it up to a bound`(count: Int) async throws
    {
        var bounds = QueryBounds()
        bounds.unindexedSort = 100
        let cloud = QueryCloud(bounds: bounds)
        try await save(count, metresApart: 0, in: cloud)
        let names = (0..<count).map(name)
        #expect(try await cloud.all(query(), limit: { 30 }) == names)
        let refusal = await cloud.refusal(query(sortedAlso: true))
        #expect(refusal?.clientCode == (count > 100 ? .limitExceeded : nil))
        if count <= 100 { #expect(try await cloud.all(query(sortedAlso: true), limit: { 30 }) == names) }
    }

    @Test(arguments: [false, true])
    func `a page with a small budget ends before its first result, and all come in order`(sortedAlso: Bool) async throws
    {
        var bounds = QueryBounds()
        bounds.candidatesPerPage = 3
        let cloud = QueryCloud(bounds: bounds)
        try await save(200, metresApart: 5, in: cloud)
        try await cloud.modify((200..<330).map { .create(name($0), ["rank": .int64(Int64($0))], type: "Item") })
        var (names, empty) = ([String](), 0)
        var marker: String?
        repeat {
            let page = try await cloud.page(query(sortedAlso: sortedAlso), limit: 50, marker: marker)
            if page.summary.isEmpty { empty += 1 }
            names += page.summary
            marker = page.continuationMarker
        } while marker != nil
        #expect(names.map { String($0.prefix(6)) } == (0..<330).map(name))
        #expect(empty > 0)
    }

    @Test(arguments: [nil, LocationValue(latitude: 10, longitude: 20)], [1, 3])
    func `records at one distance in several zones are each on one page`(place: LocationValue?, zones: Int) async throws
    {
        let cloud = QueryCloud()
        let names = (0..<400).map(name)
        var expected = ["A/seed"]
        for zone in ["A", "B", "C"].prefix(zones) {
            expected += names.map { "\(zone)/\($0)" }
            try await cloud.makeZones(zone)
            try await cloud.modify(
                names.map { .create($0, place.map { ["place": .location($0)] } ?? [:], type: "Item") }, zone: zone)
        }
        try await cloud.modify([.create("seed", ["place": .location(nearby)], type: "Item")], zone: "A")
        for limit in [50, 200] {
            let found = try await cloud.all(query(), zoneWide: true, limit: { limit })
            #expect(found.sorted() == expected.sorted())
        }
    }
}
