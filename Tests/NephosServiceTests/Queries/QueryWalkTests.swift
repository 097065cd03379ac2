import NephosWire
import Testing

@testable import NephosService

@Suite("Queries")
struct QueryWalkTests {
    private func notes(_ cloud: QueryCloud, count: Int = 30) async throws {
        try await cloud.modify(
            (0..<count).map { index in
                .create(
                    "n\(index)",
                    ["list": .string(index % 3 == 0 ? "red" : "blue"), "rank": .int64(Int64((index * 7) % count))])
            })
    }

    private var redByRank: Query {
        Query(
            recordType: "Note", filterBy: [Filter(.field("list"), .equals, .string("Red"))],
            sortBy: [QuerySortDescriptor(.field("rank"), ascending: false)])
    }

    @Test func `a filter and an order are answered from one index, page by page`() async throws {
        let cloud = QueryCloud()
        try await notes(cloud)
        try await cloud.declare("INDEX (list, rank DESC)", of: "Note")
        let ranks = (0..<30).filter { $0 % 3 == 0 }.map { (name: "n\($0)", rank: ($0 * 7) % 30) }
        let expected = ranks.sorted { $0.rank > $1.rank }.map(\.name)
        #expect(try await cloud.all(redByRank) == expected)
        #expect(try await cloud.all(redByRank, limit: { 3 }) == expected)

        let page = try await cloud.page(redByRank, limit: 4, explain: true)
        let explanation = try #require(page.explanation)
        #expect(explanation.scans.map(\.field) == ["list, rank"])
        #expect(explanation.scans.map(\.index) == ["QUERYABLE, SORTABLE"])
        #expect(explanation.recordsRead == 4 && explanation.recordsReturned == 4)
        #expect(explanation.entriesRead <= 10)
        #expect(explanation.checkedOnRecords == [])
    }

    @Test func `contradictory conditions find nothing, in any order`() async throws {
        let cloud = QueryCloud()
        try await notes(cloud)
        let above = Filter(.field("rank"), .greaterThan, .int64(5))
        let below = Filter(.field("rank"), .lessThan, .int64(3))
        for filters in [[above, below], [Filter(.field("list"), .equals, .string("red")), above, below]] {
            for keys in [[], ["rank"], ["list"], ["rank", "list"], ["list", "rank"]] {
                let query = Query(
                    recordType: "Note", filterBy: filters, sortBy: keys.map { QuerySortDescriptor(.field($0)) })
                #expect(try await cloud.all(query) == [])
                #expect(try await cloud.page(query, count: true).count == 0)
            }
        }
    }

    @Test func `a radius filter is decided by the index, whatever the order`() async throws {
        let cloud = QueryCloud()
        func place(_ metresNorth: Double) -> FieldValue {
            .location(LocationValue(latitude: 52 + metresNorth / 111_195, longitude: 13))
        }
        try await cloud.modify((0..<40).map { .create("n\($0)", ["place": place(Double($0) * 100)]) })
        try await cloud.modify([.create("nowhere")])
        let near = Filter(.field("place"), .near, place(0), distance: 1050)
        let expected = (0...10).map { "n\($0)" }
        for sort in [
            [], [QuerySortDescriptor(.field("place"), relativeLocation: LocationValue(latitude: 52, longitude: 13))],
        ] {
            let query = Query(recordType: "Note", filterBy: [near], sortBy: sort)
            #expect(try await Set(cloud.all(query)) == Set(expected))
            let explanation = try #require(try await cloud.page(query, limit: 50, explain: true).explanation)
            #expect(explanation.recordsRead == 11 && explanation.recordsReturned == 11)
            #expect(explanation.checkedOnRecords == [])
        }
    }

    @Test func `an encoded answer has the same bytes, whichever way its records are read`() async throws {
        let cloud = QueryCloud()
        try await cloud.makeZones("Zone")
        try await notes(cloud)
        try await cloud.modify([
            .create(#"qu"o\te"#, ["list": .string("red"), "rank": .int64(7), "text": .string("\"\\\n")]),
            .create("child", ["list": .string("red"), "rank": .int64(8)], parent: #"qu"o\te"#),
        ])
        try await cloud.modify([.create("other", ["list": .string("red"), "rank": .int64(9)])], zone: "Zone")
        var sending = cloud.context
        sending.takesEncodedRecords = true

        let byName = Query(
            recordType: "Note",
            filterBy: [
                Filter(.system(.recordName), .in, .list(of: .string, [.string("child"), .string("n3"), .string("n4")]))
            ])
        var checked = Query(recordType: "Note", filterBy: [Filter(.field("list"), .notEquals, .string("blue"))])
        checked.sortBy = redByRank.sortBy
        for query in [redByRank, byName, checked] {
            for keys in [nil, ["rank"], []] as [[String]?] {
                for (numbersAsStrings, zoneWide) in [(false, false), (true, false), (false, true)] {
                    var request = QueryRecordsRequest(
                        query: query, zoneWide: zoneWide, resultsLimit: 3, desiredKeys: keys,
                        numbersAsStrings: numbersAsStrings)
                    repeat {
                        let told = try await cloud.service.queryRecords(request, cloud.context)
                        let sent = try await cloud.service.queryRecords(request, sending)
                        #expect(
                            String(decoding: sent.encoded(), as: UTF8.self)
                                == String(decoding: told.encoded(), as: UTF8.self))
                        #expect(told.encodedRecords == nil && !told.records.isEmpty && sent.records.isEmpty)
                        request.continuationMarker = told.continuationMarker
                    } while request.continuationMarker != nil
                }
            }
        }
    }

    @Test func `the next query sees saves, changes and deletions`() async throws {
        let cloud = QueryCloud()
        try await notes(cloud, count: 6)
        #expect(try await cloud.all(redByRank) == ["n3", "n0"])
        try await cloud.modify([
            .force("n1", ["list": .string("RED")]), .force("n0", ["rank": .int64(100)]), .delete("n3"),
            .create("n9", ["list": .string("red")]),
        ])
        #expect(try await cloud.all(redByRank) == ["n0", "n1", "n9"])
    }
}
