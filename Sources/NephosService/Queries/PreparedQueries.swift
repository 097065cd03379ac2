import NephosCrypto
import NephosStorage
import NephosWire

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
        hash.add(caller.databaseName.utf8)
        self.hash = hash.mixed
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

/// Keeps prepared queries for those who ask the same again, as the screens of an app do. Only plans that did not look at
/// the data are kept.
final class PreparedQueries: Sendable {
    private final class Entry: Sendable {
        let identity: QueryIdentity
        let versions: Versions
        let prepared: PreparedQuery

        init(_ identity: QueryIdentity, _ versions: Versions, _ prepared: PreparedQuery) {
            self.identity = identity
            self.versions = versions
            self.prepared = prepared
        }
    }

    /// Which schema and which indexes a query was prepared with.
    struct Versions: Equatable, Sendable {
        var schema: Int
        var indexes: Int
    }

    /// Ranges of the plan of one that is kept.
    private static let mostRanges = 16

    private let kept = KeptQueries<Entry>()

    func find(_ identity: QueryIdentity, _ versions: Versions) -> PreparedQuery? {
        kept.first(at: identity.hash) { $0.versions == versions && $0.identity.isSame(as: identity) }?.prepared
    }

    func keep(_ prepared: PreparedQuery, for identity: QueryIdentity, _ versions: Versions) {
        guard KeptQueries<Entry>.isShort(identity.asked.text), prepared.plan.rangeCount <= Self.mostRanges else {
            return
        }
        kept.keep(Entry(identity, versions, prepared), at: identity.hash)
    }
}
