import NephosStorage
import NephosThreads

extension PostgresConnection {
    /// Brings the database's tables to the last migration, one server after another, and makes them if there are none.
    /// - Throws: `StorageError` `.otherVersion` if the database has tables of another layout, or those of no version that is
    ///   known here.
    func migrate(_ options: PostgresOptions) throws {
        let migrations = PostgresTables.migrations(after: options.migrations)
        let isCurrent = try ranCount(migrations, options.prefix) == migrations.count
        if try isCurrent && missingIndexes(migrations).isEmpty && missingStatistics().isEmpty { return }
        try lockTables(options)
        let ran = try ranCount(migrations, options.prefix)
        if ran < migrations.count { try ServerChecks.refuseMigration(self, options, isFirst: ran == 0) }
        for count in ran..<migrations.count {
            try run(migrations[count], of: Array(migrations[...count]), isFirst: ran == 0, options)
        }
        for index in try missingIndexes(migrations) { try buildBesideOthers(index) }
        makeStatistics(options)
    }

    /// Creates extended statistics of the dependency of zone on owner. Without them the planner multiplies the selectivities
    /// of owner and zone, estimates one record per zone, and chooses any index of the zone.
    ///
    /// Sets `n_distinct` of owner and zone to 100 rows each. `ANALYZE` of many owners with one record estimates one, too, and
    /// the zone of a growing owner soon has thousands.
    ///
    /// A failure is logged, and the next start tries again.
    private func makeStatistics(_ options: PostgresOptions) {
        do {
            for table in try missingStatistics() {
                try execute(
                    """
                    SET lock_timeout = '900ms';
                    CREATE STATISTICS IF NOT EXISTS \(table)_owner_zone (dependencies) ON owner, zone FROM \(table);
                    ALTER TABLE \(table) ALTER owner SET (n_distinct = -0.01), ALTER zone SET (n_distinct = -0.01);
                    ALTER TABLE zone ALTER owner SET (n_distinct = -0.01);
                    SET lock_timeout = '\(options.lockMilliseconds)ms'
                    """)
                _ = try ask("ANALYZE (SKIP_LOCKED) \(table), zone")
            }
        } catch {
            options.log("statistics for the planner could not be made: \(error)")
        }
    }

    /// The tables of this role that lack their statistics.
    private func missingStatistics() throws -> [String] {
        let tables = PostgresTables.ofZones.map(PostgresAddress.literal).joined(separator: ", ")
        return try ask(
            """
            SELECT relname::text FROM pg_class
            WHERE relnamespace = current_schema()::regnamespace AND relname IN (\(tables))
                AND pg_has_role(relowner, 'USAGE') AND has_schema_privilege(relnamespace, 'CREATE')
                AND (NOT EXISTS (SELECT FROM pg_statistic_ext WHERE stxrelid = pg_class.oid) OR EXISTS (
                    SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'zone' AND attoptions IS NULL))
            """
        ).map { $0[0] }
    }

    /// Takes the lock of migrations until the connection is closed. Waits as long as another server has it.
    ///
    /// Polls, because a statement that blocks has a snapshot, and `CREATE INDEX CONCURRENTLY` of the other server waits for
    /// the end of older snapshots: a deadlock.
    private func lockTables(_ options: PostgresOptions) throws {
        let (first, second) = PostgresAddress.lockKey("tables of \(options.prefix)")
        var hasLogged = false
        while try ask("SELECT 1 WHERE pg_try_advisory_lock(\(first), \(second))").isEmpty {
            if !hasLogged { options.log("waiting for another server, which migrates the database") }
            hasLogged = true
            NativeThread.sleep(nanoseconds: 100_000_000)
        }
    }

    /// Runs the last of `migrations` in a transaction of its own.
    /// - Parameter isFirst: whether the tables are made, and so unused yet. Later migrations wait for a lock only as long
    ///   as no request fails of it.
    private func run(
        _ migration: Migration, of migrations: [Migration], isFirst: Bool, _ options: PostgresOptions
    ) throws {
        let prefix = PostgresAddress.quoted(options.prefix)
        if migration.isBreaking && !isFirst {
            options.log(
                "the database is migrated to version \(migrations.version), which earlier versions of Nephos cannot read"
            )
        }
        try retrying(isFirst ? 1 : 20) {
            try execute(
                """
                BEGIN;
                CREATE SCHEMA IF NOT EXISTS \(prefix);
                SET LOCAL search_path TO \(prefix), pg_catalog;
                SET LOCAL lock_timeout = '\(isFirst ? options.lockMilliseconds : 900)ms';
                \(Self.dialect.render(migration.script));
                UPDATE installation SET version = \(migrations.version), oldest_version = \(migrations.oldestVersion);
                COMMIT
                """)
        }
    }

    /// The indexes that are to be built, or were left half built by a server that stopped.
    private func missingIndexes(_ migrations: [Migration]) throws -> [(name: String, text: String)] {
        try migrations.flatMap(\.indexes).compactMap { text in
            guard let name = text.firstMatch(of: #/INDEX (\w+) ON/#).map({ String($0.1) }) else {
                throw StorageError(.other, "a migration builds an index without a name: \(text)")
            }
            let valid = try ask(
                """
                SELECT 1 FROM pg_index WHERE indisvalid AND indexrelid = to_regclass(\(PostgresAddress.literal(name)))
                """)
            return valid.isEmpty ? (name, text) : nil
        }
    }

    /// Runs `body`, whose locks others may have for a moment.
    private func retrying(_ attempts: Int, _ body: () throws -> Void) throws {
        for attempt in 1...attempts {
            do {
                return try body()
            } catch let error as StorageError where error.code == .busy && attempt < attempts {
                try? execute("ROLLBACK")
                NativeThread.sleep(nanoseconds: 100_000_000)
            }
        }
    }

    /// Builds an index while others write.
    private func buildBesideOthers(_ index: (name: String, text: String)) throws {
        // It may take longer than a statement of a request.
        try execute("SET statement_timeout = 0")
        // Builds of one cluster wait for each other, and one of two may end as a deadlock.
        try retrying(10) {
            try execute("DROP INDEX CONCURRENTLY IF EXISTS \(index.name)")
            try execute(index.text.replacing("INDEX \(index.name)", with: "INDEX CONCURRENTLY \(index.name)"))
        }
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
