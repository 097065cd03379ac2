import Glibc
package import NephosStorage
import Synchronization

/// The stores in a PostgreSQL database, in one set of tables.
package final class PostgresStores: StoreProvider {
    private let address: PostgresAddress
    private let options: PostgresOptions
    let pool: PostgresPool
    private let lookups: LookupPipeline
    private let signals: PostgresSignals
    private let clock: DatabaseClock
    private let statistics = TableStatistics()
    private let meter: WaitMeter
    let assetDirectory: String?
    /// The connection that stores are looked for on: anybody may name any.
    private let looking = Mutex<PostgresConnection?>(nil)
    /// The connection that removes stores.
    private let removal = Mutex<PostgresConnection?>(nil)
    /// The tables that have rows of a store that is being removed, as far as that is known: nothing adds any.
    let unfinishedTables = Mutex<[Int64: [StoreTable]]>([:])
    package let blanks: (any StoreProvider)?
    /// The files of stores without an asset directory, by store.
    let temporaryAssets = Mutex<[StoreID: AssetDirectory]>([:])
    /// Keeps servers from stores that are copied.
    private let lockOfCopy = Mutex<(any StoreLock)?>(nil)

    /// Who uses the stores of a database.
    package enum Use {
        case command
        /// A server: nothing copies the stores until it ends.
        case server
        /// What copies stores: no server starts until it ends. An interrupted copy goes on into a target.
        case copy(isTarget: Bool)
    }

    /// Looks whether the server may be used, and makes the schema of the stores, if there is none. Blocks.
    /// - Parameters:
    ///   - assets: the directory of the files of assets; nil for temporary ones.
    ///   - blanks: gives stores that are empty and kept nowhere.
    /// - Throws: `StorageError`: `.inputOutput` if the server cannot be reached, `.constraint` if it may not be used or a copy
    ///   to the database was interrupted, `.inUse` if servers and what copies stores meet.
    package init(
        _ address: PostgresAddress, options: PostgresOptions = PostgresOptions(), assets: String? = nil,
        blanks: (any StoreProvider)? = nil, for use: Use = .command
    ) throws {
        self.address = address
        self.options = options
        self.blanks = blanks
        assetDirectory = assets
        let damage = DamageLog(store: "the PostgreSQL database", write: options.log)
        clock = DatabaseClock(options.clock)
        signals = PostgresSignals(address, options, clock)
        let losses = ConnectionLosses()
        let meter = WaitMeter()
        self.meter = meter
        pool = PostgresPool(options, losses: losses, meter: meter) {
            try PostgresConnection(address, options.forWrites, damage: damage, meter: meter)
        }
        lookups = LookupPipeline(batches: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)) / 4), losses: losses) {
            try PostgresConnection(address, options.forLookups, damage: damage)
        }
        try connected { connection in
            try ServerChecks.run(address, options, connection)
            try clock.measure(connection)
            try connection.migrate(options)
            try ServerChecks.refuseMissingPrivileges(connection, options)
        }
        do {
            try prepare(for: use)
        } catch {
            close()
            throw error
        }
    }

    private func prepare(for use: Use) throws {
        switch use {
        case .command: break
        case .server: try signals.listenAtOnce()
        case .copy(let isTarget):
            let lock = try lockOutServers()
            lockOfCopy.withLock { $0 = lock }
            if isTarget { return }
        }
        try connected { try $0.refuseUnfinishedCopy() }
    }

    private func lockOutServers() throws -> any StoreLock {
        do {
            return try AdvisoryLock(PostgresAddress.nameOfServersLock(prefix), address, options)
        } catch let error as StorageError where error.code == .busy {
            throw StorageError(.inUse, "a server uses the database (\(error)); stop every server of it first")
        }
    }

    /// The schema of the tables.
    var prefix: String { options.prefix }

    /// How often the server was waited for. Exact while nothing runs.
    package var roundTrips: Int { pool.roundTrips + lookups.roundTrips }

    func connected<T>(_ body: (PostgresConnection) throws -> T) throws -> T {
        try PostgresConnection.open(address, options, body)
    }

    package func lock(_ name: String) throws -> (any StoreLock)? {
        try AdvisoryLock("\(prefix) \(name)", address, options)
    }

    package func open(_ id: StoreID) throws -> any StorageEngine {
        let store = try looked { connection in
            // A newer server may have closed the tables to this version.
            _ = try connection.ranCount(PostgresTables.migrations(after: options.migrations), options.prefix)
            return try number(of: id, connection)
        }
        return PostgresEngine(
            pool: pool, lookups: lookups, signals: signals, clock: clock, store: store, statistics: statistics,
            options: options)
    }

    /// The store's number, which it gets if it is new.
    private func number(of id: StoreID, _ connection: PostgresConnection) throws -> StoreNumber {
        if let known = try connection.ask(Self.find(id)).first?.first.flatMap({ Int64($0) }) {
            return StoreNumber(value: known)
        }
        try connection.runInTransaction([
            // The first write of the store waits for the disk, with all before it.
            "SET LOCAL synchronous_commit TO off",
            """
            INSERT INTO store (container, environment)
            VALUES (\(PostgresAddress.literal(id.container)), \(PostgresAddress.literal(id.environment)))
            ON CONFLICT DO NOTHING
            """,
        ])
        guard let made = try connection.ask(Self.find(id)).first?.first.flatMap({ Int64($0) }) else {
            throw StorageError(.removed, "the store of \(id.container), \(id.environment) is being removed")
        }
        guard made <= StoreNumber.most else {
            throw StorageError(.constraint, "a database has no more stores than \(StoreNumber.most)")
        }
        return StoreNumber(value: made)
    }

    private static func find(_ id: StoreID) -> String {
        """
        SELECT id::text FROM store WHERE container = \(PostgresAddress.literal(id.container))
            AND environment = \(PostgresAddress.literal(id.environment)) AND catalog_version >= 0
        """
    }

    /// The store's rows, to be copied. Blocks until the store is not written, and keeps it so.
    /// - Parameter isTarget: whether they are copied to here. The store exists once they are.
    package func image(of id: StoreID, isTarget: Bool) throws -> PostgresImage {
        if isTarget { try expect([id]) }
        return try PostgresImage(address, options, store: try connected { try number(of: id, $0) })
    }

    package func assets(of id: StoreID) throws -> any AssetStore {
        guard let assetDirectory else {
            // An idle store is closed and opened again, and has its files then.
            return temporaryAssets.withLock { stores in
                if let assets = stores[id] { return assets }
                let assets = AssetDirectory(
                    temporary: String(UInt64.random(in: .min ... .max), radix: 36), outlivesClose: true)
                stores[id] = assets
                return assets
            }
        }
        return AssetDirectory(path: "\(assetDirectory)/\(id.container)/\(id.environment).assets")
    }

    package func exists(_ id: StoreID) throws -> Bool { try looked { !(try $0.ask(Self.find(id)).isEmpty) } }

    /// Looks for a store, once more with another connection where the kept one was lost, as while the server started anew.
    private func looked<T>(_ body: (PostgresConnection) throws -> T) throws -> T { try kept(on: looking, body) }

    /// Removes a piece of a store. Its commit need not wait for the disk, as the piece can be removed again.
    func removing<T>(_ body: (PostgresConnection) throws -> T) throws -> T {
        try kept(on: removal) { connection in
            try connection.execute("SET synchronous_commit TO off")
            return try body(connection)
        }
    }

    private func kept<T>(
        on connection: borrowing Mutex<PostgresConnection?>, _ body: (PostgresConnection) throws -> T
    ) throws -> T {
        try connection.withLock { kept in
            if let connection = kept {
                if let found = try? body(connection) { return found }
                kept = nil
                connection.close()
            }
            let connection = try PostgresConnection(address, options, damage: nil)
            do {
                let found = try body(connection)
                kept = connection
                return found
            } catch {
                connection.close()
                throw error
            }
        }
    }

    package func existingStores() throws -> [StoreID] { try connected { try $0.existingStores() } }

    package func storesWithWork() throws -> [StoreID]? {
        let key = StoreNumber.sql(ofKey: "owner")
        // Stepping from store to store: the cost follows the stores with work, not their rows.
        let looks = [
            ("job", key, "TRUE"), ("change_event", key, "TRUE"),
            ("outbox", StoreNumber.sql(ofKey: "account"), "due > 0"), ("index_definition", "store", "ready & 1 = 0"),
        ].map { table, store, condition in
            """
            (WITH RECURSIVE found (store) AS (
                (SELECT \(store) FROM \(table) WHERE \(condition) ORDER BY \(store) LIMIT 1)
                UNION ALL
                SELECT (SELECT \(store) FROM \(table) WHERE \(condition) AND (\(store)) > found.store ORDER BY \(store) LIMIT 1)
                FROM found WHERE found.store IS NOT NULL)
            SELECT store FROM found)
            """
        }
        return try connected {
            try $0.stores(where: "catalog_version >= 0 AND id IN (\(looks.joined(separator: " UNION ")))")
        }
    }

    package func firstAccountNames() throws -> [StoreID: String]? {
        let first = """
            SELECT name FROM account WHERE \(StoreNumber.sql("range", "id", store: "store.id")) AND name IS NOT NULL
            ORDER BY id LIMIT 1
            """
        let rows = try connected {
            try $0.ask("SELECT container, environment, first.name FROM store, LATERAL (\(first)) AS first")
        }
        return Dictionary(uniqueKeysWithValues: rows.map { (StoreID(container: $0[0], environment: $0[1]), $0[2]) })
    }

    package var keepsStores: Bool { true }

    package var waits: StorageWaits? { meter.waits }

    package var identity: String {
        get throws {
            try connected { connection in
                let find = "SELECT current_database(), 'store'::regclass::oid::text"
                return try connection.ask(find).first?.joined(separator: " ") ?? ""
            }
        }
    }

    /// `VACUUM` only warns a role that does not own the table.
    package func checkErasesDeletedRows() throws {
        let find = """
            SELECT quote_ident(current_user), quote_ident(pg_get_userbyid(relowner)) FROM pg_class
            WHERE oid = 'wrapped_key'::regclass AND NOT pg_has_role(relowner, 'USAGE')
            """
        guard let roles = try connected({ try $0.ask(find).first }) else { return }
        throw StorageError(
            .constraint,
            """
            only the owner of the tables, \(roles[1]), can erase former keys: run this command as that role, not as \(roles[0]) \
            (Documentation/PostgreSQL.md, Least privilege)
            """)
    }

    /// Rewrites the table of keys, which is the only one with secrets. PostgreSQL's write-ahead log and its archive keep
    /// the deleted rows until the server recycles them.
    package func eraseDeletedRows() throws {
        try connected { connection in
            try connection.execute("SET statement_timeout = 0")
            try connection.execute("VACUUM (FULL) wrapped_key")
        }
    }

    package func close() {
        for connection in [looking.withLock({ $0.take() }), removal.withLock({ $0.take() })] { connection?.close() }
        lockOfCopy.withLock { $0?.release() }
        pool.close()
        lookups.close()
        signals.close()
    }
}
