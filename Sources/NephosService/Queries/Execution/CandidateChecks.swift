import NephosStorage
import NephosWire

/// The checks that a plan's candidates must pass. The checks are valid as long as neither the query nor the indexes
/// change.
final class CandidateChecks: Sendable {
    /// The name of the record type in UTF-8.
    let type: JSONBytes
    /// The index probes of each candidate; empty if the candidates have already passed them.
    let probes: [IndexProbe]
    let circles: [QueryPlan.Circle]
    /// Whether conditions must be checked on the record itself.
    let checksRecords: Bool
    /// The matcher that checks conditions on the record.
    let matcher: QueryMatcher
    let fields: [String]
    let needsUsers: Bool
    /// Whether a condition compares the parents of records. Participants must not learn the parent of a shared root, so
    /// for participants such a condition matches no root.
    let comparesParents: Bool
    /// The order as text for the continuation marker; nil unless the service chose the order.
    let orderText: String?
    /// Whether the order has keys that the index may truncate.
    let ordersStrings: Bool

    init(
        _ query: ValidQuery, fields: [String] = [], needsUsers: Bool = false, comparesParents: Bool = false,
        probes: [IndexProbe] = [],
        circles: [QueryPlan.Circle] = [], checksRecords: Bool = true, order: QueryOrder? = nil
    ) {
        type = JSONBytes(query.recordType)
        matcher = QueryMatcher(query.condition)
        orderText = query.sort.isEmpty ? order?.components.map { IndexSignature($0).text } : nil
        ordersStrings = order?.hasStrings(besides: query.numericFields) ?? true
        self.fields = fields
        self.needsUsers = needsUsers
        self.comparesParents = comparesParents
        self.probes = probes
        self.circles = circles
        self.checksRecords = checksRecords
    }

    convenience init(_ plan: QueryPlan, of page: QueryPage) {
        let probes = page.probes(plan)
        let hasPassed = if case .collected = plan { true } else { false }
        let keys = page.conditionKeys
        self.init(
            page.query, fields: keys.fields, needsUsers: keys.needsUsers, comparesParents: keys.parent,
            probes: hasPassed ? [] : probes,
            circles: page.conjuncts.compactMap(plan.circle(of:)), checksRecords: !page.isExact(plan, probes),
            order: plan.order)
    }
}
