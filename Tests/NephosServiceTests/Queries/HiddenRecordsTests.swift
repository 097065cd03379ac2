import NephosWire
import Testing

@testable import NephosService

/// What a participant learns of the records beside those that are shared with it: nothing.
@Suite struct HiddenRecordsTests {
    /// A zone of alice's with many records of which bob sees the shared ones.
    private func share(_ cloud: TestCloud, hidden: Int) async throws -> (owner: TestDatabase, zone: ZoneIDDictionary) {
        let (own, zone, _) = try await cloud.makeSharedList()
        _ = try await own.modify((0..<hidden).map { .create("h\($0)", ["rank": .int64(Int64($0))], type: "Item") })
        return (own, zone)
    }

    private func pages(_ cloud: TestCloud, _ zone: ZoneIDDictionary) async throws -> [[String]] {
        let query = Query(recordType: "Item", sortBy: [QuerySortDescriptor(.field("rank"))])
        var pages: [[String]] = []
        var marker: String?
        repeat {
            let request = QueryRecordsRequest(query: query, zoneID: zone, resultsLimit: 5, continuationMarker: marker)
            let page = try await cloud.service.queryRecords(request, cloud.context("bob", .shared))
            pages.append(page.records.compactMap { $0.record?.recordName })
            marker = page.continuationMarker
        } while marker != nil && pages.count < 50
        return pages
    }

    @Test func `a query's pages are not empty before the last, however many records are hidden`() async throws {
        var configuration = ServiceConfiguration()
        configuration.queries.candidatesPerPage = 10
        let cloud = TestCloud(configuration)
        let (own, zone) = try await share(cloud, hidden: 200)
        #expect(try await pages(cloud, zone) == [[]])
        _ = try await own.modify(
            [40, 190, 300].map { .create("v\($0)", ["rank": .int64($0)], type: "Item", parent: "root") })
        let found = try await pages(cloud, zone)
        #expect(found.dropLast().allSatisfy { !$0.isEmpty })
        #expect(found.flatMap(\.self) == ["v40", "v190", "v300"])
    }
}
