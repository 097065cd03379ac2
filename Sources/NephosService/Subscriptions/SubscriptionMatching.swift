import NephosStorage
import NephosWire

/// Matches a change event with a subscription. The result depends only on these two and on the account's permissions.
struct SubscriptionMatching {
    let zone: ZoneKey
    let event: ChangeEvent
    /// The event's records in the form that conditions evaluate.
    private let records: [QueryableRow]
    private let words: [RecordWords]

    init(_ event: ChangeEvent, in zone: ZoneKey, record: (RecordRow) throws -> QueryableRow) rethrows {
        self.zone = zone
        self.event = event
        if case .records(let changes) = event {
            records = try changes.map { try record($0.record) }
        } else {
            records = []
        }
        words = records.map { _ in RecordWords() }
    }

    enum Outcome: Equatable {
        case nothing
        /// One notification that there are changes to fetch.
        case hint
        /// One notification for each of these changes.
        case changes([RecordChange])
    }

    /// - Parameter compared: the bytes that were compared with conditions so far.
    func outcome(
        for subscription: SubscriptionDictionary, _ row: SubscriptionRow, permissions: RecordPermissions,
        compared: inout Int
    ) -> Outcome {
        guard row.zone == 0 || row.zone == zone.id else { return .nothing }
        guard case .records(let changes) = event else {
            return subscription.subscriptionType != .query && row.recordType.isEmpty ? .hint : .nothing
        }
        if subscription.subscriptionType != .query {
            // A subscription to one type needs no conditions or permissions, because its account owns the records.
            let isTold = row.recordType.isEmpty || changes.contains { $0.record.type == row.recordType }
            return isTold ? .hint : .nothing
        }
        guard let query = subscription.query else { return .nothing }
        let matcher = QueryMatcher(query.condition)
        var told: [RecordChange] = []
        for (index, change) in changes.enumerated()
        where change.record.type == query.recordType && subscription.firesOn.contains(change.trigger) {
            compared += change.record.fields.count * matcher.comparisons
            guard permissions.mayRead(change.record), matcher.matches(records[index], words: words[index]) else {
                continue
            }
            told.append(change)
            if subscription.firesOnce { break }
        }
        return told.isEmpty ? .nothing : .changes(told)
    }
}
