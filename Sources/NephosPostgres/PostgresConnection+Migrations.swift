import NephosStorage

extension PostgresConnection {
    /// Brings the database's tables to the last migration, one server after another, and makes them if there are none.
    /// - Throws: `StorageError` `.otherVersion` if the database has tables of another layout, or those of no version that is
    ///   known here.
    func migrate(_ options: PostgresOptions) throws {
        let prefix = PostgresAddress.quoted(options.prefix)
        let migrations = PostgresTables.migrations(after: options.migrations)
        let (first, second) = PostgresAddress.lockKey("tables of \(options.prefix)")
        if try ranCount(migrations, options.prefix) == migrations.count { return }
        // Until the connection is closed.
        _ = try ask("SELECT pg_advisory_lock(\(first), \(second))::text")
        let ran = try ranCount(migrations, options.prefix)
        guard ran < migrations.count else { return }
        try execute(
            """
            BEGIN;
            CREATE SCHEMA IF NOT EXISTS \(prefix);
            SET LOCAL search_path TO \(prefix), pg_catalog;
            \(migrations.dropFirst(ran).map { Self.dialect.render($0.script) }.joined(separator: ";\n"));
            UPDATE installation SET version = \(migrations.version), oldest_version = \(migrations.oldestVersion);
            COMMIT
            """)
    }

    /// - Returns: how many migrations the database has run; all where a newer server ran more and left it open to this one.
    func ranCount(_ migrations: [Migration], _ prefix: String) throws -> Int {
        let (present, oldest) = try versions(prefix)
        if present == 0 { return 0 }
        let isKnown = (try? migrations.ranCount(ofStore: present)) != nil
        return !isKnown && migrations.mayUse(storeOpenTo: oldest)
            ? migrations.count : try migrations.ranCount(ofStore: present)
    }

    /// Zeros for a database that has no tables.
    private func versions(_ prefix: String) throws -> (present: Int, oldest: Int) {
        func exists(_ table: String) throws -> Bool {
            let name = PostgresAddress.literal("\(PostgresAddress.quoted(prefix)).\(table)")
            return try ask("SELECT to_regclass(\(name)) IS NOT NULL").first?.first == "\u{1}"
        }
        guard try exists("installation") else {
            guard try exists("store") else { return (0, 0) }
            throw StorageError(
                .otherVersion,
                """
                the database has a schema for each store, as earlier versions of Nephos made them; copy its stores into files \
                with the version that wrote them (nephos migrate), and from there into a database of this version
                """)
        }
        let row = try ask(
            "SELECT version::text, oldest_version::text FROM \(PostgresAddress.quoted(prefix)).installation"
        ).first
        return (Int(row?.first ?? "") ?? 0, Int(row?.last ?? "") ?? 0)
    }
}
