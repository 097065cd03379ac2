package import NephosStorage
import Synchronization

/// A container is removed in pieces, as all stores share the tables: a deletion of all rows of one would hold its locks, and
/// delay the vacuum, for as long as that takes.
///
/// A store that is being removed has a row in `store` whose `catalog_version` is -1 (`PostgresSQL.state` fails on it, so no
/// server writes it any more). In the end the row gets a name that no container has, and stays: a server that was stopped
/// meanwhile may still have the store's number.
extension PostgresStores {
    static let removedVersion: Int64 = -1

    package func removalPiece(of container: String, limit: Int) throws -> RemovalPiece? {
        let find = """
            SELECT id::text, catalog_version::text FROM store
            WHERE container = \(PostgresAddress.literal(container)) AND catalog_version <> 0
            """
        let stores = try removing { try $0.ask(find) }.compactMap { row in
            Int64(row[0]).map { (number: StoreNumber(value: $0), isRemoved: row[1] == "\(Self.removedVersion)") }
        }
        let present = stores.filter { !$0.isRemoved }.map(\.number)
        if !present.isEmpty { return RemovalPiece { [self] in try beginRemoval(of: present) } }
        if let store = stores.first?.number {
            return RemovalPiece { [self] in try removing { try removeRows(of: store, limit: limit, $0) } }
        }
        temporaryAssets.withLock { stores in stores = stores.filter { $0.key.container != container } }
        return try assetDirectory.flatMap { try RemovalPiece.files(of: container, in: $0, limit: limit) }
    }

    private func beginRemoval(of stores: [StoreNumber]) throws {
        try connected { connection in
            for store in stores {
                // The lock waits for the writes that are under way.
                try connection.runInTransaction([
                    "SELECT pg_advisory_xact_lock(\(PostgresAddress.lockKey(prefix).1), \(store.value))::text",
                    "UPDATE store SET catalog_version = \(Self.removedVersion) WHERE id = \(store.value)",
                ])
            }
        }
    }

    /// Removes some rows of a removed store. After the last one the store has no container any more.
    private func removeRows(of store: StoreNumber, limit: Int, _ connection: PostgresConnection) throws {
        var tables = try unfinishedTables.withLock { $0[store.value] } ?? connection.storeTables()
        while let table = tables.last {
            // Rows that another server removes meanwhile count for none.
            if try connection.remove(limit, rowsOf: store, from: table) > 0
                || connection.hasRows(of: store, in: table)
            {
                let left = tables
                return unfinishedTables.withLock { $0[store.value] = left }
            }
            tables.removeLast()
        }
        unfinishedTables.withLock { $0[store.value] = nil }
        _ = try connection.ask("UPDATE store SET container = '.' || id WHERE id = \(store.value)")
    }
}

extension PostgresConnection {
    /// The tables with rows of stores, each with its columns.
    /// - Parameter own: the tables of the whole database.
    func storeTables(except own: [String] = ["store", "installation", "asset_place"]) throws -> [StoreTable] {
        let rows = try ask(
            """
            SELECT table_name::text, string_agg(column_name::text, ' ' ORDER BY column_name COLLATE "C")
            FROM information_schema.columns
            WHERE table_schema = current_schema()
                AND table_name NOT IN (\(own.map(PostgresAddress.literal).joined(separator: ", ")))
            GROUP BY table_name ORDER BY table_name COLLATE "C"
            """)
        return rows.map { StoreTable(name: $0[0], columns: $0[1].split(separator: " ").map(String.init)) }
    }

    /// Removes some rows of a removed store, in a transaction of their own.
    /// - Returns: the number of rows.
    func remove(_ limit: Int, rowsOf store: StoreNumber, from table: StoreTable) throws -> Int {
        Int(try ask(PostgresSQL.removal(limit, rowsOf: store, from: table)).first?.first ?? "") ?? 0
    }

    func hasRows(of store: StoreNumber, in table: StoreTable) throws -> Bool {
        try !ask("SELECT 1 FROM \(table.name) WHERE \(PostgresSQL.rows(of: store, in: table)) LIMIT 1").isEmpty
    }
}

extension PostgresSQL {
    /// The statement that removes some rows of a store, and gives their number.
    static func removal(_ limit: Int, rowsOf store: StoreNumber, from table: StoreTable) -> String {
        """
        WITH removed AS (
            DELETE FROM \(table.name) WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM \(table.name) WHERE \(rows(of: store, in: table)) LIMIT \(limit)))
            RETURNING 1)
        SELECT count(*)::text FROM removed
        """
    }

    /// The condition that rows of a table are a store's.
    static func rows(of store: StoreNumber, in table: StoreTable) -> String {
        if PostgresTables.withStoreNumber.contains(table.name) { return "store = \(store.value)" }
        let keys = table.columns.filter { PostgresTables.hasKey($0, of: table.name) }
        // The keys of memberships begin with the participant.
        let key = keys.contains("owner") && table.name != "membership" ? "owner" : keys.first ?? "owner"
        // The indexes of some tables begin with the key, those of others with the store's number in it.
        return "\(StoreNumber.sql("range", key, store: "\(store.value)::bigint"))"
            + " AND (\(StoreNumber.sql(ofKey: key))) = \(store.value)"
    }
}
