import NephosStorage
import NephosWire
import Synchronization

/// A query as a caller asked it: everything of the request but the page.
struct QueryIdentity {
    let asked: AskedQuery
    let scope: DatabaseScope
    let account: AccountRow?
    /// Tells the query and who asks it from others, as far as a number can.
    let hash: UInt64

    init(_ asked: AskedQuery, _ caller: Caller) {
        self.asked = asked
        scope = caller.scope
        account = caller.account
        var hash = asked.textHash
        hash.add(caller.feedOwner)
        self.hash = hash.value
    }

    func isSame(as other: QueryIdentity) -> Bool {
        hash == other.hash && asked.isSame(as: other.asked) && scope == other.scope && account == other.account
    }
}

/// What a query comes to, as long as neither the schema nor the indexes change.
final class PreparedQuery: Sendable {
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

/// Keeps prepared queries for those who ask the same again, as the screens of an app do.
///
/// Each has its place by its hash, and takes it from the one before. Only plans that did not look at the data are kept.
final class PreparedQueries: Sendable {
    private struct Entry: Sendable {
        let identity: QueryIdentity
        let versions: Versions
        let prepared: PreparedQuery
    }

    /// Which schema and which indexes a query was prepared with.
    struct Versions: Equatable, Sendable {
        var schema: Int
        var indexes: Int
    }

    private static let count = 512
    /// Bytes of a request that is kept, and ranges of its plan: what is kept takes no more than a few megabytes.
    private static let longest = 2048
    private static let mostRanges = 16

    private let entries = Mutex([Entry?](repeating: nil, count: count))

    func find(_ identity: QueryIdentity, _ versions: Versions) -> PreparedQuery? {
        guard let entry = entries.withLock({ $0[Self.place(of: identity)] }), entry.versions == versions,
            entry.identity.isSame(as: identity)
        else { return nil }
        return entry.prepared
    }

    func keep(_ prepared: PreparedQuery, for identity: QueryIdentity, _ versions: Versions) {
        guard identity.asked.text.count <= Self.longest, prepared.plan.rangeCount <= Self.mostRanges else { return }
        let entry = Entry(identity: identity, versions: versions, prepared: prepared)
        // What had the place is freed without the lock.
        _ = entries.withLock { entries in
            let place = Self.place(of: identity)
            let old = entries[place]
            entries[place] = entry
            return old
        }
    }

    private static func place(of identity: QueryIdentity) -> Int { Int(identity.hash % UInt64(count)) }
}
