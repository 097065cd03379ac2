import NephosSQLite
import NephosWire
import Testing

@testable import NephosService

/// A caller that may read some of the records learns nothing of the others. Two clouds have the same visible records and
/// different hidden ones, more than any bound of a page; each query has the same answer and reads as much in both.
@Suite struct HiddenRecordsTests {
    private static let home = LocationValue(latitude: 10, longitude: 20)

    /// What the caller sees of a query, page by page, and what reading it cost.
    private struct Answers: Equatable {
        var pages: [[String]] = []
        var counts: [Int?] = []
        var explanations: [QueryExplanation?] = []
        var error: String?
    }

    private static var queries: [Query] {
        func sorted(_ sort: QuerySortDescriptor..., by filters: Filter...) -> Query {
            Query(recordType: "Item", filterBy: filters, sortBy: sort)
        }
        let near = Filter(.field("place"), .near, .location(home), distance: 5000)
        return [
            sorted(),
            sorted(QuerySortDescriptor(.field("rank"))),
            sorted(QuerySortDescriptor(.field("rank"), ascending: false)),
            sorted(QuerySortDescriptor(.field("same"))),
            sorted(QuerySortDescriptor(.field("same")), QuerySortDescriptor(.field("rank"))),
            sorted(QuerySortDescriptor(.field("text"), ascending: false)),
            sorted(QuerySortDescriptor(.field("place"), relativeLocation: home)),
            sorted(QuerySortDescriptor(.field("place"), ascending: false, relativeLocation: home)),
            sorted(QuerySortDescriptor(.system(.recordName))),
            sorted(QuerySortDescriptor(.system(.recordName), ascending: false)),
            sorted(by: Filter(.field("same"), .equals, .int64(1))),
            sorted(QuerySortDescriptor(.field("rank")), by: Filter(.field("same"), .equals, .int64(1))),
            sorted(by: Filter(.field("rank"), .lessThan, .int64(3))),
            sorted(by: Filter(.field("text"), .beginsWith, .string("text 1"))),
            sorted(by: near),
            sorted(QuerySortDescriptor(.field("place"), relativeLocation: home), by: near),
            sorted(
                by: Filter(
                    .system(.recordName), .in,
                    .list(
                        of: .reference,
                        ["v1", "h1", "h2", "v2", "none"].map { .reference(ReferenceValue(recordName: $0)) }))),
            sorted(by: Filter(.field("rank"), .equals, .int64(77_000))),
        ]
    }

    private func fields(_ index: Int64, size: Int = 10) -> [String: FieldValue] {
        [
            "rank": .int64(index), "same": .int64(1), "text": .string("text \(index)"),
            "place": .location(LocationValue(latitude: 10 + Double(index) / 10_000, longitude: 20)),
            "filling": .string(String(repeating: "x", count: size)),
        ]
    }

    private func answers(
        _ query: Query, _ cloud: TestCloud, _ context: RequestContext, zone: ZoneIDDictionary?, count: Bool
    ) async throws -> Answers {
        var answers = Answers()
        var marker: String?
        do throws(ServiceError) {
            repeat {
                var request = QueryRecordsRequest(
                    query: query, zoneID: zone, resultsLimit: 7, continuationMarker: marker, wantsExplanation: true)
                request.wantsCount = count
                let page = try await cloud.service.queryRecords(request, context)
                answers.pages.append(page.records.compactMap { $0.record?.recordName })
                answers.counts.append(page.count)
                answers.explanations.append(page.explanation)
                marker = page.continuationMarker
            } while marker != nil && answers.pages.count < 100
        } catch {
            answers.error = "\(error)"
        }
        return answers
    }

    private func expectEqualAnswers(
        _ worlds: [TestCloud], _ context: (TestCloud) -> RequestContext, zone: (TestCloud) -> ZoneIDDictionary?
    ) async throws {
        for (index, query) in Self.queries.enumerated() {
            for count in [false, true] {
                var all: [Answers] = []
                for cloud in worlds {
                    all.append(try await answers(query, cloud, context(cloud), zone: zone(cloud), count: count))
                }
                #expect(all[0] == all[1], "query \(index), count \(count)")
                if index == 0 && !count { #expect(all[0].pages.flatMap(\.self).count > 7) }
            }
        }
    }

    /// Bounds that the hidden records exceed.
    private var configuration: ServiceConfiguration {
        var configuration = ServiceConfiguration()
        configuration.queries.candidatesPerPage = 40
        configuration.queries.bytesPerPage = 64 << 10
        configuration.queries.sortedBytes = 128 << 10
        configuration.queries.unindexedSort = 60
        configuration.queries.smallSet = 30
        configuration.queries.comparison = 50
        configuration.queries.candidatesPerCount = 80
        return configuration
    }

    @Test func `a participant's queries do not depend on unshared records`() async throws {
        var zones: [ObjectIdentifier: ZoneIDDictionary] = [:]
        var worlds: [TestCloud] = []
        for hidden in [[], Array(0..<Int64(200))] {
            let cloud = TestCloud(configuration, stores: MemoryStores())
            let (own, zone, _) = try await cloud.makeSharedList()
            _ = try await own.modify(
                (0..<Int64(30)).map { .create("v\($0)", fields(3 * $0), type: "Item", parent: "root") })
            if !hidden.isEmpty {
                _ = try await own.modify(hidden.map { .create("h\($0)", fields($0, size: 2000), type: "Item") })
            }
            zones[ObjectIdentifier(cloud)] = zone
            worlds.append(cloud)
        }
        try await expectEqualAnswers(worlds, { $0.context("bob", .shared) }, zone: { zones[ObjectIdentifier($0)] })
    }

    @Test func `an account that may read only its own records learns nothing of others'`() async throws {
        var worlds: [TestCloud] = []
        for hidden in [[], Array(0..<Int64(200))] {
            let cloud = TestCloud(configuration, stores: MemoryStores())
            let own = TestDatabase(cloud, "bob", .public)
            _ = try await own.modify((0..<Int64(30)).map { .create("v\($0)", fields(3 * $0), type: "Item") })
            let text = try await cloud.service.exportSchema(own.context)
            let grants = text.replacing("GRANT READ TO \"_world\"", with: "GRANT READ TO \"_creator\"")
            #expect(grants != text)
            _ = try await cloud.service.importSchema(grants, own.context)
            if !hidden.isEmpty {
                let others = TestDatabase(cloud, "ann", .public)
                _ = try await others.modify(hidden.map { .create("h\($0)", fields($0, size: 2000), type: "Item") })
            }
            worlds.append(cloud)
        }
        try await expectEqualAnswers(worlds, { $0.context("bob", .public) }, zone: { _ in nil })
    }

    @Test func `a participant gets every shared record, page by page, while records move`() async throws {
        let cloud = TestCloud(configuration)
        let (own, zone, _) = try await cloud.makeSharedList()
        _ = try await own.modify(
            (0..<Int64(20)).map { .create("v\($0)", fields($0), type: "Item", parent: "root") })
        let query = Query(recordType: "Item", sortBy: [QuerySortDescriptor(.field("rank"))])
        var (names, marker) = ([String](), String?.none)
        repeat {
            let request = QueryRecordsRequest(query: query, zoneID: zone, resultsLimit: 5, continuationMarker: marker)
            let page = try await cloud.service.queryRecords(request, cloud.context("bob", .shared))
            names += page.records.compactMap { $0.record?.recordName }
            marker = page.continuationMarker
            if names.count == 5 {
                // One behind the page moves in front of it, one that was given behind it.
                _ = try await own.modify([
                    .make(.forceUpdate, "v15", ["rank": .int64(-1)], type: "Item"),
                    .make(.forceUpdate, "v1", ["rank": .int64(100)], type: "Item"),
                ])
            }
        } while marker != nil
        #expect(names.sorted() == (0..<20).map { "v\($0)" }.sorted())
        #expect(names.last == "v15")
    }

    @Test func `too many shared records cannot be sorted, and are read without an order`() async throws {
        let cloud = TestCloud(configuration)
        let (own, zone, _) = try await cloud.makeSharedList()
        _ = try await own.modify(
            (0..<Int64(61)).map { .create("v\($0)", fields($0), type: "Item", parent: "root") })
        var query = Query(recordType: "Item", sortBy: [QuerySortDescriptor(.field("rank"))])
        let context = cloud.context("bob", .shared)
        let sorted = try await answers(query, cloud, context, zone: zone, count: false)
        #expect(sorted.error?.contains("without an order") == true, "\(sorted)")
        query.sortBy = []
        let all = try await answers(query, cloud, context, zone: zone, count: false)
        #expect(all.pages.flatMap(\.self) == (0..<61).map { "v\($0)" }.sorted())
    }

    @Test func `results of two shares of a zone are merged by name, and a third adds none`() async throws {
        let cloud = TestCloud(configuration)
        let (own, zone, _) = try await cloud.makeSharedList()
        var guids: [String] = []
        for root in ["second", "third"] {
            let body = """
                {"zoneID":{"zoneName":"Z"},"operations":[
                {"operationType":"create","record":{"recordName":"\(root)","recordType":"List"}},
                {"operationType":"create","record":{"recordName":"\(root)-share","recordType":"cloudkit.share",
                "forRecord":{"recordName":"\(root)"},"publicPermission":"READ_ONLY"}}]}
                """
            let request = try ModifyRecordsRequest(decoding: Array(body.utf8))
            let saved = try await cloud.service.modifyRecords(request, own.context).records
            guids.append(try #require(saved[1].record?.shareDetails?.shortGUID))
        }
        _ = try await cloud.service.acceptShares(
            ShortGUIDsRequest(shortGUIDs: [.init(value: guids[0])]), cloud.context("bob"))
        let roots = ["root", "second", "third"]
        _ = try await own.modify(
            (0..<Int64(36)).map { .create("v\($0)", fields($0), type: "Item", parent: roots[Int($0) % 3]) })
        let visible = (0..<36).filter { $0 % 3 < 2 }.map { "v\($0)" }
        var query = Query(recordType: "Item")
        let context = cloud.context("bob", .shared)
        let all = try await answers(query, cloud, context, zone: zone, count: false)
        #expect(all.pages.flatMap(\.self) == visible.sorted())
        query.sortBy = [QuerySortDescriptor(.field("rank"))]
        let sorted = try await answers(query, cloud, context, zone: zone, count: false)
        #expect(sorted.pages.flatMap(\.self) == visible)
    }
}
