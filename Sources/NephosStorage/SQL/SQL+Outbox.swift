extension SQL {
    private static let pushTokenColumns = "token, account, client, environment, device, polls, seen_at, handed_out"
    /// The number of rows that `insertOutboxTogether` adds: one notification in as many entries of the outbox.
    static let outboxRowsTogether = 16
    private static let outboxColumns = """
        account, destination, id, subject, notification, subscription, collapse, silent, created_at, payload, attempts,
        due
        """

    /// The statements about push tokens; nil for another.
    var pushTokenText: String? {
        switch self {
        case .pushToken:
            "SELECT \(Self.pushTokenColumns) FROM push_token WHERE \(Self.ofStore("account")) AND token = $1"
        case .pushTokensOfAccount:
            "SELECT \(Self.pushTokenColumns) FROM push_token WHERE account = $1 ORDER BY token"
        case .putPushToken:
            """
            INSERT INTO push_token (\(Self.pushTokenColumns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT (token) DO UPDATE SET
                account = excluded.account, client = excluded.client, environment = excluded.environment,
                device = excluded.device, polls = excluded.polls, seen_at = excluded.seen_at,
                handed_out = excluded.handed_out
            """
        case .removePushToken: "DELETE FROM push_token WHERE \(Self.ofStore("account")) AND token = $1"
        case .noteHandedOut: "UPDATE push_token SET handed_out = $1 WHERE \(Self.ofStore("account")) AND token = $2"
        default: nil
        }
    }

    /// The statements about the outbox; nil for another.
    var outboxText: String? {
        switch self {
        case .outboxOfDestination:
            "SELECT \(Self.outboxColumns) FROM outbox WHERE account = $1 AND destination = $2 ORDER BY id LIMIT $3"
        case .outboxDestinationsOfSubject:
            "SELECT destination FROM outbox WHERE account = $1 AND subject <> '' AND subject = $2"
        case .dueOutbox:
            """
            SELECT \(Self.outboxColumns) FROM outbox WHERE \(Self.ofStore("account")) AND due > 0 AND due <= $1
            ORDER BY due, id LIMIT $2
            """
        case .nextOutboxDue:
            "SELECT due FROM outbox WHERE \(Self.ofStore("account")) AND due > 0 AND due > $1 ORDER BY due LIMIT 1"
        case .insertOutbox:
            """
            INSERT INTO outbox (\(Self.outboxColumns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            """
        case .insertOutboxTogether:
            Self.insertOutbox.text
                + (1..<Self.outboxRowsTogether).map { row in
                    let own = 10 + 3 * row
                    return ", ($1, $\(own), $\(own + 1), $4, $5, $6, $7, $8, $9, $10, $11, $\(own + 2))"
                }.joined()
        case .updateOutbox:
            """
            UPDATE outbox SET attempts = $1, due = $2
            WHERE account = $3 AND destination = $4 AND id = $5 AND due = $6
            """
        case .claimDueOutbox:
            """
            UPDATE outbox SET due = $1 WHERE (account, destination, id) IN (
                SELECT account, destination, id FROM outbox
                WHERE \(Self.ofStore("account")) AND due > 0 AND due <= $2 ORDER BY due, id LIMIT $3)
            RETURNING \(Self.outboxColumns)
            """
        // Used only by a remote connection. On other connections single lookups are as fast.
        case .firstOutbox: Self.outboxOfDestination.text
        case .removeOutbox: "DELETE FROM outbox WHERE account = $1 AND destination = $2 AND id = $3"
        case .removeOutboxOfSubject:
            "DELETE FROM outbox WHERE account = $1 AND destination = $2 AND subject <> '' AND subject = $3"
        case .removeOldOutbox:
            """
            DELETE FROM outbox WHERE account = $1 AND destination = $2 AND id <= (
                SELECT id FROM outbox WHERE account = $1 AND destination = $2 ORDER BY id DESC LIMIT 1 OFFSET $3)
            """
        default: nil
        }
    }
}
