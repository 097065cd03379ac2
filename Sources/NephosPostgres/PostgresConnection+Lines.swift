import NephosStorage

/// The lines that a write takes: those of owners, or the store's lock alone.
struct Lines: Hashable, Sendable {
    var owners: Set<OwnerID> = []
    var isAlone = false

    /// The owners in the order in which every write takes their lines.
    var sorted: [OwnerID] { isAlone ? [] : owners.sorted { $0.rawValue < $1.rawValue } }
}

extension PostgresConnection {
    func runAlone() throws {
        if !lines.isAlone { try retry(for: .alone) }
    }

    /// Retries the transaction with an owner's line if it lacks that.
    func require(_ owner: OwnerID) throws {
        if !lines.isAlone && !lines.owners.contains(owner) { try retry(for: .line(owner)) }
    }

    /// Retries the transaction if it lacks the line of an owner whose rows the statement changes.
    func requireLines(of statement: PostgresStatement) throws {
        if lines.isAlone || PostgresSQL.withoutLine.contains(statement.sql) { return }
        if PostgresSQL.ofStore.contains(statement.sql) { try runAlone() }
        for owner in statement.owners { try require(OwnerID(rawValue: owner)) }
        if statement.owners.isEmpty && lines.owners.isEmpty { try runAlone() }
    }

    /// A write takes the lines of its owners in the order of their keys, then the store's lock. Nothing is read by the
    /// statements that lock: their snapshot is older than their wait.
    func beginning() -> [Queued] {
        guard isWriting else { return [query("read", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")] }
        var queries = [query("write", "BEGIN ISOLATION LEVEL READ COMMITTED")]
        for owner in lines.sorted {
            var key = PostgresLink.Parameters()
            key.add(lineKey(of: owner))
            queries.append(query("line", "SELECT pg_advisory_xact_lock($1::bigint)", key))
        }
        let lock = lines.isAlone ? "pg_advisory_xact_lock" : "pg_advisory_xact_lock_shared"
        let idle = "set_config('idle_in_transaction_session_timeout', '\(idleMilliseconds)', true)"
        queries.append(
            query(
                lines.isAlone ? "alone" : "beside",
                "SELECT \(PostgresSQL.microseconds), \(lock)(\(lockPrefix), $1::int), \(idle)",
                needsStore: true))
        queries.append(query("state", PostgresSQL.state, needsStore: true))
        return queries
    }

    /// Returns the sessions that hold one of the lines and wait for their server amid a statement, for the rest of it or for
    /// the server to read the answer: PostgreSQL waits without a limit, as the time-out for idle transactions counts between
    /// statements alone. Only those of this role: of others it does not see what they wait for.
    /// - Returns: the sessions, each with whether its statement began that long ago.
    func waitingWrites(holding lines: Lines, since milliseconds: Int) throws -> [WaitingWrite: Bool] {
        // A shared lock of the store blocks no write of an owner.
        let store = """
            objsubid = 2 AND classid::bigint = \(UInt32(bitPattern: lockPrefix)) AND objid::bigint = \(store.value) \
            \(lines.isAlone ? "" : "AND mode = 'ExclusiveLock'")
            """
        let owners = lines.sorted.map { owner in
            let key = UInt64(bitPattern: lineKey(of: owner))
            return "objsubid = 1 AND classid::bigint = \(key >> 32) AND objid::bigint = \(key & 0xffff_ffff)"
        }
        let isWanted = ([store] + owners).map { "(\($0))" }.joined(separator: " OR ")
        let rows = try ask(
            """
            SELECT pid::text, \(Self.statementStart)::text,
                (state_change < clock_timestamp() - interval '\(milliseconds) milliseconds')::text
            FROM pg_stat_activity AS session
            WHERE datname = current_database() AND usename = current_user AND state = 'active'
                AND wait_event IN ('ClientRead', 'ClientWrite') AND EXISTS (
                    SELECT FROM pg_locks AS held
                    WHERE held.pid = session.pid AND locktype = 'advisory' AND granted AND (\(isWanted)))
            """)
        let writes = rows.map { (WaitingWrite(session: $0[0], since: $0[1]), $0[2] == "true") }
        return Dictionary(writes, uniquingKeysWith: { $0 || $1 })
    }

    /// Ends the session of a write, unless it went on.
    /// - Returns: whether it was ended.
    func end(_ write: WaitingWrite) throws -> Bool {
        try ask(
            """
            SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
            WHERE pid = \(write.session) AND \(Self.statementStart) = \(write.since)
            """
        ) == [["true"]]
    }

    /// In microseconds: a text of a time can be read in several ways.
    private static let statementStart = "(extract(epoch FROM state_change) * 1000000)::bigint"

    /// The key of an owner's advisory lock. It includes the schema, as a database may have several.
    private func lineKey(of owner: OwnerID) -> Int64 {
        store.key(owner.rawValue) ^ Int64(lockPrefix) << 31
    }

    /// Waits for the running writes of owners, outside of transactions.
    func settle(_ owners: Set<OwnerID>) throws {
        let last = try ask("SELECT last_value::text FROM change_sequence").first?.first.flatMap { Int64($0) } ?? 0
        // In the order in which writes take them.
        let keys = owners.sorted { $0.rawValue < $1.rawValue }.map { String(lineKey(of: $0)) }
        for start in stride(from: 0, to: keys.count, by: Self.linesAtOnce) {
            let some = keys[start..<min(start + Self.linesAtOnce, keys.count)].joined(separator: ", ")
            try runInTransaction([
                "SELECT count(pg_advisory_xact_lock_shared(key))::text FROM unnest(ARRAY[\(some)]::bigint[]) AS key"
            ])
        }
        // `settled` is above the sequences of these writes and of all before, and below those of later ones.
        (settledOwners, settled) = (owners, last + PostgresSQL.sequencesPerTransaction - 1)
    }

    /// The maximum number of lines per statement: all sessions share one table of locks.
    private static let linesAtOnce = 100

    func settledSequence(of owners: Set<OwnerID>) throws -> Int64 {
        if !settledOwners.isSuperset(of: owners) { try retry(for: .settling(owners)) }
        return settled
    }
}
