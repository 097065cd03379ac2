extension SQL {
    /// The statements about change events; nil for another.
    var changeEventText: String? {
        switch self {
        case .changeEvents:
            """
            SELECT id, owner, zone, zone_name, sequence, origin_account, origin_client, body,
                done_type, done_account, done_id, done_count
            FROM change_event WHERE \(Self.ofStore()) AND id > $1 ORDER BY id LIMIT $2
            """
        case .changeEventOrigins:
            "SELECT id, origin_account, owner FROM change_event WHERE \(Self.ofStore()) AND id > 0 ORDER BY id LIMIT $1"
        case .lastChangeEvent:
            "SELECT id FROM change_event WHERE \(Self.ofStore()) AND id > 0 ORDER BY id DESC LIMIT 1 OFFSET $1"
        case .insertChangeEvent:
            """
            INSERT INTO change_event (owner, zone, zone_name, sequence, origin_account, origin_client, body)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            """
        case .updateChangeEvent:
            """
            UPDATE change_event SET sequence = $1, done_type = $2, done_account = $3, done_id = $4, done_count = $5
            WHERE \(Self.ofStore()) AND id = $6
            """
        case .removeChangeEvent: "DELETE FROM change_event WHERE \(Self.ofStore()) AND id = $1"
        case .claimChangeEvent:
            """
            SELECT done_type, done_account, done_id, done_count FROM change_event WHERE \(Self.ofStore()) AND id = $1
            """
        default: nil
        }
    }
}

extension StorageReader {
    /// The pending change events with an ID above `id`, the oldest first: at most `limit`.
    package final func changeEvents(after id: Int64, limit: Int) throws -> [ChangeEventRow] {
        try rows(.changeEvents, bind: { try $0.bind(id).bind(limit: limit) }, read: { ChangeEventRow($0) })
    }

    /// The pending change events with the accounts that caused them and the databases, the oldest first: at most `limit`.
    package final func changeEventOrigins(limit: Int) throws -> [(id: Int64, origin: ChangeEventOrigin)] {
        try rows(.changeEventOrigins, bind: { try $0.bind(limit: limit) }) {
            ($0.integer(0), ChangeEventOrigin(account: $0.integer(1), database: OwnerID(rawValue: $0.owner(2))))
        }
    }

    /// The ID of the newest pending event but for the `count` newest; nil if no more are pending.
    package final func lastChangeEvent(before count: Int = 0) throws -> Int64? {
        try rows(.lastChangeEvent, bind: { try $0.bind(limit: count) }, read: { $0.integer(0) }).first
    }
}

extension StorageTransaction {
    /// Adds an event under a new ID.
    package func insert(_ event: ChangeEventRow) throws {
        try change(.insertChangeEvent) {
            try $0.bind(event.zone).bind(event.zoneName).bind(event.sequence).bind(event.originAccount)
                .bind(event.originClient).bind(event.body)
        }
    }

    /// Stores an event's last notified subscription and its sequence.
    package func update(_ event: ChangeEventRow) throws {
        let position = event.position
        try change(.updateChangeEvent) {
            try $0.bind(event.sequence).bind(position?.recordType).bind(position?.account ?? 0).bind(position?.id)
                .bind(position?.count ?? 0).bind(event.id)
        }
    }

    package func removeChangeEvent(id: Int64) throws {
        try change(.removeChangeEvent) { try $0.bind(id) }
    }

    /// Locks an event against other transactions until this one ends.
    /// - Parameter position: the event's last notified subscription when the caller read the event.
    /// - Returns: false if the event was removed, if its position has changed, or if another transaction has locked it.
    package func claimChangeEvent(id: Int64, at position: SubscriptionPosition?) throws -> Bool {
        try row(.claimChangeEvent) {
            try $0.bind(id)
        } read: {
            SubscriptionPosition($0, from: 0) == position
        } ?? false
    }
}

extension ChangeEventRow {
    fileprivate init(_ row: any SQLStatement) {
        self.init(
            id: row.integer(0), zone: ZoneKey(row, at: 1),
            zoneName: row.text(3), sequence: row.integer(4), originAccount: row.integer(5), originClient: row.text(6),
            body: row.bytes(7), position: SubscriptionPosition(row, from: 8))
    }
}

extension SubscriptionPosition {
    fileprivate init?(_ row: any SQLStatement, from column: Int) {
        guard let type = row.optionalText(column) else { return nil }
        self.init(
            recordType: type, account: row.integer(column + 1), id: row.text(column + 2),
            count: row.integer(column + 3))
    }
}
