import NephosCrypto
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// Queries that are asked again are not planned again, unless something changed.
@Suite struct PreparedQueriesTests {
    private func identity(
        _ name: String = "a", count: Bool = false, scope: DatabaseScope = .private, account: Int64? = 1
    ) -> QueryIdentity {
        var request = QueryRecordsRequest(
            query: Query(recordType: "Note", filterBy: [Filter(.field("name"), .equals, .string(name))]),
            resultsLimit: .random(in: 1...200))
        request.wantsCount = count
        return QueryIdentity(
            AskedQuery(request),
            Caller(
                scope: scope, account: account.map { AccountRow(id: $0, name: "n\($0)", userRecordName: "_\($0)") },
                requestID: "r", storeID: StoreID(container: "c", environment: "development"), key: .random(),
                assets: AssetAccess(
                    AssetTokens(key: .random(), place: StoreID(container: "c", environment: "development")),
                    baseURL: "",
                    now: 0, hasAssets: false)))
    }

    private let prepared = Self.prepared(.nothing)
    private let versions = PreparedQueries.Versions(schema: 1, indexes: 1)

    private static func prepared(_ plan: QueryPlan) -> PreparedQuery {
        let query = ValidQuery(recordType: "Note", condition: .all, sort: [], searchableFields: [])
        return PreparedQuery(query: query, conjuncts: [], plan: plan, checks: CandidateChecks(query))
    }

    @Test("What was prepared is found by the same query of the same account, whatever the page")
    func found() {
        let queries = PreparedQueries()
        queries.keep(prepared, for: identity(), versions)
        #expect(queries.find(identity(), versions) === prepared)
        for other in [
            identity("b"), identity(count: true), identity(scope: .public), identity(account: 2),
            identity(account: nil),
        ] {
            #expect(queries.find(other, versions) == nil)
        }
    }

    @Test("It is not found once the schema or the indexes are others")
    func versioned() {
        let queries = PreparedQueries()
        queries.keep(prepared, for: identity(), versions)
        #expect(queries.find(identity(), PreparedQueries.Versions(schema: 2, indexes: 1)) == nil)
        #expect(queries.find(identity(), PreparedQueries.Versions(schema: 1, indexes: 2)) == nil)
    }

    @Test("Few are kept, no long ones and none of many ranges")
    func bounded() {
        let queries = PreparedQueries()
        let range = ScanRange(signature: IndexSignature([]), range: .all, keyOffset: 0)
        let scan = QueryScan(ranges: Array(repeating: range, count: 17), order: [], covers: [])
        let order = QueryOrder([IndexComponent]())
        let wide = Self.prepared(.ordered(scan, order))
        queries.keep(wide, for: identity(), versions)
        #expect(queries.find(identity(), versions) == nil)
        let long = identity(String(repeating: "x", count: 3000))
        queries.keep(prepared, for: long, versions)
        #expect(queries.find(long, versions) == nil)
        let many = (0..<20_000).map { identity("\($0)") }
        for query in many { queries.keep(prepared, for: query, versions) }
        let kept = many.count { queries.find($0, versions) != nil }
        #expect(kept > 1000 && kept <= 4096, "\(kept)")
    }

    @Test("Content that is kept has a version of its own, and none while it changes")
    func contentVersions() {
        let catalog = AnnouncedCatalog<Int>()
        let first = catalog.now
        #expect(catalog.version(asOf: first) == nil)
        catalog.remember(1, asOf: first)
        let version = catalog.version(asOf: first)
        #expect(version != nil)
        #expect(catalog.version(asOf: first) == version)
        catalog.remember(2, asOf: first)
        let second = catalog.version(asOf: first)
        #expect(second != nil && second != version)
        catalog.beginChange()
        #expect(catalog.version(asOf: catalog.now) == nil)
        catalog.endChange()
        #expect(catalog.version(asOf: first) == nil)
        #expect(catalog.version(asOf: catalog.now) == nil, "nothing is kept yet")
        let last = catalog.now
        catalog.remember(1, asOf: last)
        #expect(catalog.version(asOf: last) != version && catalog.version(asOf: last) != second)
    }
}
