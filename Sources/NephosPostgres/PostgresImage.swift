import CPostgres
package import NephosStorage

/// The rows of a store in PostgreSQL, while it is not written.
package final class PostgresImage: StoreCopy {
    private let connection: PostgresConnection
    private let store: StoreNumber
    private var isPrepared: Set<String> = []
    /// A record may have a megabyte.
    private static let rowsPerRead = 100
    /// What follows from the other tables, or is of this database alone.
    private static let ownTables = ["store", "installation", "asset_place", "subscribed_type"]

    init(_ address: PostgresAddress, _ options: PostgresOptions, store: StoreNumber) throws {
        self.store = store
        connection = try PostgresConnection(address, options, damage: nil)
        // Whole tables are read, in a transaction that waits for the other store.
        try connection.execute(
            "SET idle_in_transaction_session_timeout = 0; RESET enable_seqscan; RESET enable_bitmapscan")
        // Writes wait until the connection closes. The snapshot is taken after the last of them.
        try ask("SELECT pg_advisory_lock(\(PostgresAddress.lockKey(options.prefix).1), \(store.value))::text")
        try ask("BEGIN ISOLATION LEVEL REPEATABLE READ")
    }

    /// - Returns: the first column's texts.
    @discardableResult
    private func ask(_ text: String) throws -> [String] { try connection.ask(text).compactMap(\.first) }

    private func number(_ text: String) throws -> Int64 { Int64(try ask(text).first ?? "") ?? 0 }

    package func tables() throws -> [StoreTable] {
        try connection.storeTables(except: Self.ownTables).map { table in
            StoreTable(name: table.name, columns: table.columns.filter { $0 != "store" })
        }
    }

    package func read(_ table: StoreTable, _ body: ([[StoredValue]]) throws -> Void) throws {
        // A save does not write its zone's row.
        let columns = table.columns.map { column in
            table.name == "zone" && column == "changed"
                ? """
                greatest(changed, purged_until, (SELECT max(r.sequence) FROM record AS r
                    WHERE r.owner = zone.owner AND r.zone = zone.id)) AS changed
                """ : column
        }
        try ask(
            """
            DECLARE rows NO SCROLL CURSOR FOR SELECT \(columns.joined(separator: ", ")) FROM \(table.name)
            WHERE \(PostgresSQL.rows(of: store, in: table))
            """)
        while true {
            let result = try connection.rows(of: "FETCH \(Self.rowsPerRead) FROM rows")
            try body(
                (0..<result.rows).map { row in
                    table.columns.indices.map { column in
                        let value = Self.value(result, row, column)
                        guard PostgresTables.hasKey(table.columns[column], of: table.name),
                            case .integer(let key) = value
                        else { return value }
                        return .integer(store.number(key))
                    }
                })
            if result.rows < Self.rowsPerRead { break }
        }
        try ask("CLOSE rows")
    }

    private static func value(_ result: PostgresLink.Result, _ row: Int, _ column: Int) -> StoredValue {
        if PQgetisnull(result.handle, Int32(row), Int32(column)) == 1 { return .null }
        switch PQftype(result.handle, Int32(column)) {
        case 20: return .integer(PostgresStatement.integer(result, row, column))
        case 17: return .bytes(Array(PostgresStatement.bytes(result, row, column)))
        default: return .text(Array(PostgresStatement.bytes(result, row, column)))
        }
    }

    package func counters() throws -> StoreCounters {
        let sequence = try number(
            "SELECT (last_value + \(PostgresSQL.sequencesPerTransaction - 1))::text FROM change_sequence")
        var counters = StoreCounters(sequence: sequence, ids: [:])
        for table in Self.numbered {
            counters.ids[table] = try number(
                "SELECT (CASE WHEN is_called THEN last_value ELSE 0 END)::text FROM \(Self.sequence(of: table))")
        }
        return counters
    }

    /// The tables that number their rows. Records have numbers that are made as change sequences are.
    private static let numbered = ["account", "change_event", "index_definition", "job", "zone"]

    private static func sequence(of table: String) -> String {
        table == "account" ? "account_number" : "\(table)_id_seq"
    }

    package func insert(_ rows: [[StoredValue]], into table: StoreTable) throws {
        if rows.isEmpty { return }
        var batch: [PostgresLink.Query] = []
        if isPrepared.insert(table.name).inserted {
            let hasStore = PostgresTables.withStoreNumber.contains(table.name)
            let text = """
                INSERT INTO \(table.name) (\((table.columns + (hasStore ? ["store"] : [])).joined(separator: ", ")))
                VALUES (\(SQL.parameters(table.columns.count, from: 1))\(hasStore ? ", \(store.value)" : ""))
                """
            batch.append(.prepare(name: table.name, text: text))
        }
        for row in rows {
            var parameters = PostgresLink.Parameters()
            for (column, value) in zip(table.columns, row) {
                switch value {
                case .null: parameters.addNull()
                // A participant without an account has the number 0.
                case .integer(let number)
                where PostgresTables.hasKey(column, of: table.name)
                    && !(number == 0 && column == "account"):
                    parameters.add(store.key(number))
                case .integer(let number): parameters.add(number)
                case .text(let text):
                    // What no other store has either.
                    if text.contains(0) {
                        throw StorageError(
                            .constraint, "a text in \(table.name) holds a NUL, which PostgreSQL cannot keep")
                    }
                    parameters.add(text: text)
                case .bytes(let bytes): parameters.add(bytes: bytes)
                }
            }
            batch.append(.run(name: table.name, parameters))
        }
        if let failure = try connection.link.run(batch).1 {
            throw failure.storageError(while: "copying to \(table.name)")
        }
    }

    package func setCounters(_ counters: StoreCounters) throws {
        // Both change sequences and records' numbers go on above what is there.
        let owned = StoreNumber.sql("range", "owner", store: "\(store.value)::bigint")
        let last = max(
            counters.sequence, try number("SELECT coalesce(max(id), 0)::text FROM record WHERE \(owned)"))
        let block = PostgresSQL.sequencesPerTransaction
        try ask(
            """
            SELECT setval('change_sequence', greatest(last_value, (\(last) / \(block) + 1) * \(block)))::text
            FROM change_sequence
            """)
        try ask(
            """
            UPDATE store SET subscribed_version = 1, catalog_version = greatest(catalog_version, 1) + 1
            WHERE id = \(store.value)
            """)
        try ask("INSERT INTO subscribed_type SELECT DISTINCT owner, record_type, 1 FROM subscription WHERE \(owned)")
        for (table, id) in counters.ids where id > 0 && Self.numbered.contains(table) {
            let sequence = Self.sequence(of: table)
            try ask("SELECT setval('\(sequence)', greatest(\(id), (SELECT last_value FROM \(sequence))))::text")
        }
    }

    package func commit() throws { try ask("COMMIT") }

    package func close() { connection.close() }
}
