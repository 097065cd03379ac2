extension SQL {
    private static let subscriptionColumns = "owner, account, id, record_type, zone, body, since"

    /// The statements about subscriptions; nil for another.
    var subscriptionText: String? {
        switch self {
        case .subscriptionByID:
            """
            SELECT \(Self.subscriptionColumns) FROM subscription WHERE owner = $1 AND account = $2 AND id = $3
            """
        case .subscriptionsOfAccount:
            """
            SELECT \(Self.subscriptionColumns) FROM subscription WHERE owner = $1 AND account = $2 ORDER BY id
            """
        case .subscriptionsOfType:
            """
            SELECT \(Self.subscriptionColumns) FROM subscription
            WHERE owner = $1 AND record_type = $2 AND (account, id) > ($3, $4) ORDER BY account, id LIMIT $5
            """
        case .nextSubscribedType:
            """
            SELECT owner, record_type FROM subscription WHERE (owner, record_type) > ($1, $2)
                AND \(Self.withinStore("owner")) ORDER BY owner, record_type LIMIT 1
            """
        case .putSubscription:
            """
            INSERT INTO subscription (\(Self.subscriptionColumns)) VALUES ($1, $2, $3, $4, $5, $6, $7)
            ON CONFLICT (owner, account, id) DO UPDATE SET
                record_type = excluded.record_type, zone = excluded.zone, body = excluded.body
            """
        case .removeSubscription: "DELETE FROM subscription WHERE owner = $1 AND account = $2 AND id = $3"
        case .removeSubscriptionsOfZone: "DELETE FROM subscription WHERE owner = $1 AND zone = $2"
        default: nil
        }
    }
}
