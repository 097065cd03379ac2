extension SQL {
    /// The statements that find rows whose zone or account does not exist, for verification of the store. A negative
    /// owner belongs to the account with the positive number. It stands for the account's shared database, which has
    /// zones of other owners, or for the account's uploads to other databases.
    var verificationText: String? {
        switch self {
        case .rowsWithoutZone:
            [
                "record", "reference", "index_entry", "asset_reference", "shared_record", "share", "wrapped_key", "job",
                "change_event", "subscription",
            ].map { table in
                """
                SELECT '\(table)', owner, zone, count(*) FROM \(table)
                WHERE \(Self.withinStore("owner")) AND zone <> 0 AND NOT EXISTS (
                    SELECT 1 FROM zone WHERE \(Self.ofStore("zone.owner")) AND zone.id = \(table).zone
                        AND (zone.owner = \(table).owner OR \(Self.number("\(table).owner")) < 0))
                GROUP BY owner, zone
                """
            }.joined(separator: " UNION ALL ") + " LIMIT $1"
        case .rowsWithoutAccount:
            ([
                ("zone", "owner"), ("asset", "owner"), ("wrapped_key", "owner"), ("membership", "account"),
                ("share_participant", "account"), ("push_token", "account"), ("request_key", "account"),
                ("outbox", "account"), ("job", "owner"), ("change_event", "owner"), ("subscription", "owner"),
            ].map { Self.rowsWithoutAccount($0, $1, number: Self.number($1), key: $1) }
                + [
                    ("subscription", "account"), ("record", "created_by"), ("record", "modified_by"),
                    ("change_event", "origin_account"),
                ].map { Self.rowsWithoutAccount($0, $1, number: $1, key: "owner") })
                .joined(separator: " UNION ALL ") + " LIMIT $1"
        default: nil
        }
    }

    /// - Parameters:
    ///   - number: the number of the account.
    ///   - key: the column by whose key a row belongs to the store.
    private static func rowsWithoutAccount(_ table: String, _ column: String, number: String, key: String) -> String {
        """
        SELECT '\(table)', '\(column)', abs(\(number)), count(*) FROM \(table)
        WHERE \(withinStore(key)) AND \(number) <> 0
            AND NOT EXISTS (SELECT 1 FROM account WHERE account.id = \(Self.key("abs(\(number))")))
        GROUP BY abs(\(number))
        """
    }
}

extension StorageReader {
    /// The rows of all tables whose zone does not exist, neither live nor deleted. Scans the tables.
    package final func rowsWithoutZone(limit: Int) throws -> [StrayRows] {
        try rows(.rowsWithoutZone, bind: { try $0.bind(limit: limit) }) {
            StrayRows(table: $0.text(0), column: "zone", id: $0.integer(2), owner: $0.owner(1), count: $0.integer(3))
        }
    }

    /// The rows of all tables whose account does not exist, neither live nor deleted. Scans the tables.
    package final func rowsWithoutAccount(limit: Int) throws -> [StrayRows] {
        try rows(.rowsWithoutAccount, bind: { try $0.bind(limit: limit) }) {
            StrayRows(table: $0.text(0), column: $0.text(1), id: $0.integer(2), owner: nil, count: $0.integer(3))
        }
    }
}
