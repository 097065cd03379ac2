import NephosStorage
import NephosWire

/// A validated and planned query. It is valid as long as neither the schema nor the indexes change.
final class PlannedQuery: Sendable {
    let query: ValidQuery
    let conjuncts: [QueryConjunct]
    let plan: QueryPlan
    let checks: CandidateChecks

    init(query: ValidQuery, conjuncts: [QueryConjunct], plan: QueryPlan, checks: CandidateChecks) {
        self.query = query
        self.conjuncts = conjuncts
        self.plan = plan
        self.checks = checks
    }
}

/// A store's plan cache, by query, caller and versions. Plans for which entries were counted are not cached.
final class PlannedQueries: Sendable {
    /// The versions of the schema and the indexes with which a query was planned.
    struct Versions: Hashable, Sendable {
        var schema: Int
        var indexes: Int
    }

    /// The caller's query, which is the request without the page, and everything else on which its plan depends.
    struct Key: Hashable, Sendable {
        let text: QueryBytes
        let scope: DatabaseScope
        let account: AccountRow?
        let versions: Versions
        /// Whether the caller may read only a part of the zone.
        let hidesRecords: Bool

        init(_ query: DecodedQuery, _ caller: Caller, _ versions: Versions, hidesRecords: Bool) {
            self.hidesRecords = hidesRecords
            text = query.text
            scope = caller.scope
            account = caller.account
            self.versions = versions
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(text)
            hasher.combine(scope)
            hasher.combine(account?.id)
            hasher.combine(versions)
        }
    }

    private let cache = QueryCache<Key, PlannedQuery>(capacity: Limits.queryCacheSize)

    var count: Int { cache.count }

    func find(_ key: Key) -> PlannedQuery? { cache.value(for: key) }

    func insert(_ planned: PlannedQuery, for key: Key) {
        let text = key.text
        let cost = 1024 + 2 * text.bytes.count + 64 * text.partCount + 256 * planned.plan.rangeCount
        cache.insert(planned, for: key, cost: cost)
    }
}
