package import NephosStorage
import NephosThreads
import Synchronization

/// One store of a PostgreSQL database.
///
/// A read is one snapshot. A write takes the lines of the owners whose rows it changes: no two writes of an owner run at the
/// same time, on any server, and the change sequences of an owner are in the order of its commits. Waiting writes of one owner
/// are committed together (`OwnerQueue`).
package final class PostgresEngine: StorageEngine {
    private struct State {
        var underWay = 0
        var isClosing = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let pool: PostgresPool
    private let queue: OwnerQueue
    private let lookups: LookupPipeline
    private let signals: PostgresSignals
    private let clock: DatabaseClock
    private let store: StoreNumber
    private let options: PostgresOptions
    private let statistics: TableStatistics
    private let stoppedWrites: StoppedWrites
    /// The maximum number of attempts of a write that conflicts with others.
    private static let attempts = 20

    init(
        pool: PostgresPool, lookups: LookupPipeline, signals: PostgresSignals, clock: DatabaseClock, store: StoreNumber,
        statistics: TableStatistics, options: PostgresOptions
    ) {
        self.pool = pool
        queue = OwnerQueue(pool, store)
        self.lookups = lookups
        self.signals = signals
        self.clock = clock
        self.store = store
        self.statistics = statistics
        self.options = options
        stoppedWrites = StoppedWrites(options)
    }

    // MARK: Reads

    package func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T {
        try begin()
        defer { end() }
        return try await readInTransaction(nil, body)
    }

    package func read<T: Sendable>(
        expecting length: ReadLength, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        try begin()
        defer { end() }
        if length == .lookup, let result = await lookup(body) { return try result.get() }
        return try await readInTransaction(length.work, body)
    }

    private func readInTransaction<T: Sendable>(
        _ work: Int?, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        try await onConnection(reads: true) { [self, times = RequestTimes.current] connection in
            try transaction(on: connection, nil, attempts: 4) {
                try Self.read(connection) { reader in
                    guard let work else { return try body(reader) }
                    return try connection.meter.runShort(work, for: times) { try body(reader) }
                }
            }
        }
    }

    /// What a body gives or throws that reads one record of a zone; nil where that is not all that it reads, or could not be
    /// read with others'.
    private func lookup<T>(_ body: (StorageReader) throws -> T) async -> Result<T, any Error>? {
        let connection = ZoneLookupConnection(store: store)
        _ = Self.run(body, over: connection)
        guard let wanted = connection.wanted, let row = await lookups.row(of: wanted) else { return nil }
        defer { lookups.release(row) }
        let lookup = ZoneLookupConnection(store: store, finding: row, of: wanted)
        let result = Self.run(body, over: lookup)
        return lookup.needsMore ? nil : result
    }

    private static func run<T>(
        _ body: (StorageReader) throws -> T, over connection: ZoneLookupConnection
    ) -> Result<T, any Error> {
        let reader = StorageReader(connection)
        defer { reader.invalidate() }
        return Result { try body(reader) }
    }

    private static func read<T>(_ connection: PostgresConnection, _ body: (StorageReader) throws -> T) throws -> T {
        let reader = StorageReader(connection)
        defer { reader.invalidate() }
        let value = try body(reader)
        try connection.throwIfRetrying()
        return value
    }

    /// Runs `body` with a connection; once more with others where the first turns out to be lost before anything was
    /// committed: a server that was restarted ended all that were idle. What only reads has no effect, and is also repeated
    /// where a new connection is lost, once, and as long as a statement may take.
    private func onConnection<T: Sendable>(
        reads: Bool = false, isInDoubt wasInDoubt: Bool = false,
        _ body: @escaping @Sendable (PostgresConnection) throws -> T
    ) async throws -> T {
        let deadline = MonotonicTime.now + Int64(options.statementMilliseconds) * 1_000_000
        var isInDoubt = wasInDoubt
        var newOnesLost = 0
        for _ in 0...(options.connections + 1) {
            do {
                return try await pool.run { connection in
                    do {
                        return try body(connection)
                    } catch {
                        guard connection.isBroken else { throw error }
                        if connection.isCommitting {
                            // Where it was, it finds that when it runs again.
                            if connection.isRepeatable { throw LostConnection(wasCommitting: true, cause: error) }
                            throw Self.unknownOutcome(error)
                        }
                        if connection.isFresh && !reads { throw error }
                        throw LostConnection(wasFresh: connection.isFresh, cause: error)
                    }
                }
            } catch let lost as LostConnection {
                if lost.wasFresh { newOnesLost += 1 }
                if reads && (newOnesLost > 1 || MonotonicTime.now.nanoseconds > deadline.nanoseconds) {
                    throw lost.cause
                }
                isInDoubt = isInDoubt || lost.wasCommitting
            } catch let error as StorageError where isInDoubt && error.code == .inputOutput {
                throw Self.unknownOutcome(error)
            }
        }
        throw StorageError(
            isInDoubt ? .unknownOutcome : .inputOutput, "PostgreSQL: every connection was lost, one after another")
    }

    static func unknownOutcome(_ error: any Error) -> StorageError {
        StorageError(.unknownOutcome, "it is not known whether a write was committed: \(error)")
    }

    /// A connection is not there any more.
    private struct LostConnection: Error {
        var wasCommitting = false
        /// Whether it was lost at its first use.
        var wasFresh = false
        var cause: any Error
    }

    // MARK: Writes

    package func write<T: Sendable>(
        of owners: Set<OwnerID>, _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        try begin()
        defer { end() }
        let value = try await write(Lines(owners: owners)) { [statistics] transaction in
            let value = try body(transaction)
            statistics.note(rows: max(1, transaction.writtenRows))
            return value
        }
        if statistics.isDue() { analyzeTables() }
        return value
    }

    private func write<T: Sendable>(
        _ lines: Lines, _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        var isInDoubt = false
        if lines.owners.count == 1, let owner = lines.owners.first {
            switch await queue.write(of: owner, body) {
            case .done(let value):
                guard let value = value as? T else { throw StorageError(.other, "a write gave another's value") }
                return value
            case .failed(let error): throw error
            case .alone(let wasCommitting): isInDoubt = wasCommitting
            }
        }
        return try await onConnection(isInDoubt: isInDoubt) { [self, isInDoubt] connection in
            try transaction(on: connection, lines, attempts: Self.attempts, isRepeated: isInDoubt) {
                try connection.run(body, connection.sequences())
            }
        }
    }

    /// Runs `body` in a transaction, and retries it for each `RetryReason`.
    /// - Parameters:
    ///   - lines: the lines that a write takes; nil for a read.
    ///   - attempts: the maximum number of transactions.
    ///   - isRepeated: whether `body` ran before, and may have been committed.
    private func transaction<T>(
        on connection: PostgresConnection, _ lines: Lines?, attempts: Int, isRepeated: Bool = false,
        _ body: () throws -> T
    ) throws -> T {
        try connection.use(store)
        var lines = lines
        var attempt = 1
        let lockDeadline = MonotonicTime.now + Int64(options.lockMilliseconds) * 1_000_000
        while true {
            connection.begin(
                lines: lines, wantsVersions: attempt > 1 && connection.retryReason == .versions,
                isRepeated: isRepeated || attempt > 1)
            do {
                let value = try body()
                try connection.commit()
                return value
            } catch {
                // A stale cache may be the cause.
                if connection.retryReason == nil { try? connection.checkVersions() }
                connection.rollback()
                guard let reason = connection.retryReason, attempt < attempts, !connection.isBroken,
                    reason != .lock || MonotonicTime.now.nanoseconds < lockDeadline.nanoseconds
                else { throw error }
                try prepareRetry(for: reason, on: connection, &lines, attempt, lockDeadline)
            }
            attempt += 1
        }
    }

    /// Removes the reason of a retry: adds the missing line, settles owners, or backs off.
    private func prepareRetry(
        for reason: PostgresConnection.RetryReason, on connection: PostgresConnection, _ lines: inout Lines?,
        _ attempt: Int, _ lockDeadline: MonotonicTime
    ) throws {
        switch reason {
        case .line(let owner): lines?.owners.insert(owner)
        case .alone: lines?.isAlone = true
        case .lineage: try connection.noteLineage()
        case .lock: stoppedWrites.look(connection, for: lines ?? Lines())
        case .settling(let owners): try settle(owners, on: connection, until: lockDeadline)
        case .conflict: NativeThread.sleep(nanoseconds: Int64.random(in: 100_000...Int64(attempt) * 2_000_000))
        case .preparation, .versions: break
        }
    }

    /// Waits for the running writes of owners, and ends those of servers that stopped.
    private func settle(
        _ owners: Set<OwnerID>, on connection: PostgresConnection, until deadline: MonotonicTime
    ) throws {
        while true {
            do {
                return try connection.settle(owners)
            } catch let error as StorageError
                where error.code == .busy && MonotonicTime.now.nanoseconds < deadline.nanoseconds
            {
                stoppedWrites.look(connection, for: Lines(owners: owners))
            }
        }
    }

    /// No request waits for it. What fails is tried again after more writes.
    private func analyzeTables() {
        Task { [pool] in
            _ = try? await pool.run { try TableStatistics.update($0) }
        }
    }

    // MARK: Other servers

    package var isShared: Bool { true }

    package var clockOffset: Int64 { clock.offset }

    package func signalOthers(_ signals: StoreSignals) { self.signals.signal(store, signals) }

    package func onSignals(_ handler: @escaping @Sendable (StoreSignals) -> Void) {
        do {
            try signals.register(store, handler)
        } catch {
            options.log("signals of other servers are not heard: \(error)")
        }
    }

    // MARK: The end

    private func begin() throws {
        try state.withLock { state in
            if state.isClosing { throw StorageError(.closed, "the store is closed") }
            state.underWay += 1
        }
        RequestTimes.current?.enter(.storage)
    }

    private func end() {
        RequestTimes.current?.enter(.service)
        let closers = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.underWay -= 1
            guard state.isClosing, state.underWay == 0 else { return [] }
            defer { state.closers = [] }
            return state.closers
        }
        for closer in closers { closer.resume() }
    }

    package func close() async {
        signals.unregister(store)
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                state.isClosing = true
                if state.underWay > 0 { state.closers.append(continuation) }
                return state.underWay == 0
            }
            if isIdle { continuation.resume() }
        }
    }
}
