import NephosCrypto
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// The plan cache.
@Suite struct PlannedQueriesTests {
    private typealias Versions = PlannedQueries.Versions

    private func key(
        _ name: String = "a", count: Bool = false, scope: DatabaseScope = .private, account: Int64? = 1,
        versions: PlannedQueries.Versions = PlannedQueries.Versions(schema: 1, indexes: 1), hides: Bool = false
    ) -> PlannedQueries.Key {
        var request = QueryRecordsRequest(
            query: Query(recordType: "Note", filterBy: [Filter(.field("name"), .equals, .string(name))]),
            resultsLimit: .random(in: 1...200))
        request.wantsCount = count
        return PlannedQueries.Key(
            DecodedQuery(request),
            Caller(
                scope: scope, account: account.map { AccountRow(id: $0, name: "n\($0)", userRecordName: "_\($0)") },
                requestID: "r", storeID: StoreID(container: "c", environment: "development"), key: .random(),
                assets: AssetAddresses(
                    AssetTokens(key: .random(), place: StoreID(container: "c", environment: "development")),
                    baseURL: "",
                    now: 0, hasAssets: false, databaseLimit: 0)),
            versions, hidesRecords: hides)
    }

    private static func planned(_ plan: QueryPlan) -> PlannedQuery {
        let query = ValidQuery(recordType: "Note", condition: .all, sort: [], searchableFields: [])
        return PlannedQuery(query: query, conjuncts: [], plan: plan, checks: CandidateChecks(query))
    }

    private let planned = Self.planned(.nothing)

    @Test func `a plan is a hit for the same query of the same account, whatever the page`() {
        let queries = PlannedQueries()
        queries.insert(planned, for: key())
        #expect(queries.find(key()) === planned)
        for other in [
            key("b"), key(count: true), key(scope: .public), key(account: 2), key(account: nil), key(hides: true),
        ] {
            #expect(queries.find(other) == nil)
        }
    }

    @Test func `a plan is a miss after the version of the schema or of the indexes changed`() {
        let queries = PlannedQueries()
        queries.insert(planned, for: key())
        #expect(queries.find(key(versions: Versions(schema: 2, indexes: 1))) == nil)
        #expect(queries.find(key(versions: Versions(schema: 1, indexes: 2))) == nil)
    }

    @Test func `plans of long queries and of many ranges are not cached, and fifteen hundred others are`() {
        let queries = PlannedQueries()
        let range = ScanRange(signature: IndexSignature([]), range: .all, keyOffset: 0)
        let scan = QueryScan(ranges: Array(repeating: range, count: 64), order: [], covers: [])
        let order = QueryOrder([IndexComponent]())
        queries.insert(Self.planned(.ordered(scan, order)), for: key())
        #expect(queries.find(key()) == nil)
        let long = key(String(repeating: "x", count: 30_000))
        queries.insert(planned, for: long)
        #expect(queries.find(long) == nil)
        let some = (0..<1500).map { key("\($0)") }
        for query in some { queries.insert(planned, for: query) }
        #expect(some.allSatisfy { queries.find($0) === planned })
        for query in (1500..<20_000).map({ key("\($0)") }) { queries.insert(planned, for: query) }
        #expect(queries.count < 8000)
    }

    @Test func `cached content has its own version, and none while it changes`() {
        let catalog = VersionedCache<Int>()
        let first = catalog.now
        #expect(catalog.kept(asOf: first)?.count == nil)
        catalog.remember(1, at: 1, asOf: first)
        let version = catalog.kept(asOf: first)?.count
        #expect(version != nil)
        #expect(catalog.kept(asOf: first)?.count == version)
        catalog.remember(2, at: 1, asOf: first)
        let second = catalog.kept(asOf: first)?.count
        #expect(second != nil && second != version)
        catalog.beginChange()
        #expect(catalog.kept(asOf: catalog.now)?.count == nil)
        catalog.endChange()
        #expect(catalog.kept(asOf: first)?.count == nil)
        #expect(catalog.kept(asOf: catalog.now)?.count == nil, "nothing is cached yet")
        let last = catalog.now
        catalog.remember(1, at: 1, asOf: last)
        #expect(catalog.kept(asOf: last)?.count != version && catalog.kept(asOf: last)?.count != second)
    }
}
