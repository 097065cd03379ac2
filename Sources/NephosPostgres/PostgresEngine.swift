package import NephosStorage
import NephosThreads
import Synchronization

/// One store of a PostgreSQL database.
///
/// A read is one snapshot. A write runs beside others and locks the records that it decides on; what is not known to be
/// safe beside others runs alone. Where another write was in the way it runs again, in the end alone.
package final class PostgresEngine: StorageEngine {
    private struct State {
        var underWay = 0
        var isClosing = false
        var closers: [CheckedContinuation<Void, Never>] = []
        /// The largest number of a transaction that was answered here.
        var answered: Int64 = 0
    }

    private let state = Mutex(State())
    private let pool: PostgresPool
    private let lookups: LookupPipeline
    private let signals: PostgresSignals
    private let clock: DatabaseClock
    private let store: StoreNumber
    private let options: PostgresOptions
    private let statistics: TableStatistics
    /// Runs of writes beside others before one runs alone.
    private static let triesBesideOthers = 4

    init(
        pool: PostgresPool, lookups: LookupPipeline, signals: PostgresSignals, clock: DatabaseClock, store: StoreNumber,
        statistics: TableStatistics, options: PostgresOptions
    ) {
        self.pool = pool
        self.lookups = lookups
        self.signals = signals
        self.clock = clock
        self.store = store
        self.statistics = statistics
        self.options = options
    }

    // MARK: Reads

    private enum Read<T: Sendable>: Sendable {
        case done(T)
        /// A feed is not complete yet.
        case early(HorizonWait)
    }

    package func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T {
        let answered = try begin()
        defer { end() }
        return try await readInTransaction(answered, isShort: false, body)
    }

    package func read<T: Sendable>(
        expecting length: ReadLength, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        let answered = try begin()
        defer { end() }
        if length == .lookup, let result = await lookup(body) { return try result.get() }
        return try await readInTransaction(answered, isShort: length != .long, body)
    }

    private func readInTransaction<T: Sendable>(
        _ answered: Int64, isShort: Bool, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        let deadline = MonotonicTime.now + options.horizonNanoseconds
        var wait = HorizonWait()
        while true {
            wait.isOver = MonotonicTime.now.nanoseconds >= deadline.nanoseconds
            let read = try await onConnection(reads: true) { [store, wait, times = RequestTimes.current] connection in
                try Self.read(connection, store, wait, answered: answered) { reader in
                    guard isShort else { return try body(reader) }
                    return try connection.meter.runShort(for: times) { try body(reader) }
                }
            }
            switch read {
            case .done(let value): return value
            case .early(let next): wait = next
            }
            try await Task.sleep(for: .milliseconds(2))
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

    private static func read<T: Sendable>(
        _ connection: PostgresConnection, _ store: StoreNumber, _ wait: HorizonWait, answered: Int64,
        _ body: (StorageReader) throws -> T
    ) throws -> Read<T> {
        // What was prepared may be gone, once; so may what is cached be stale.
        for attempt in 1... {
            try connection.use(store)
            connection.begin(
                .reading, horizonWait: wait, answered: answered, wantsVersions: connection.again == .versions)
            let reader = StorageReader(connection)
            defer { reader.invalidate() }
            do {
                let value = try body(reader)
                if connection.again == nil {
                    try connection.commit()
                    return .done(value)
                }
            } catch {
                // It may have failed because of what was stale.
                if connection.again == nil { try? connection.checkVersions() }
                if connection.again == nil || attempt > 2 {
                    connection.rollback()
                    throw error
                }
            }
            connection.rollback()
            if connection.again == .horizon { return .early(connection.horizonWait) }
        }
        throw StorageError(.other, "a read could not be prepared")
    }

    /// Runs `body` with a connection; once more with others where the first turns out to be lost before anything was
    /// committed: a server that was restarted ended all that were idle. What only reads has no effect, and is also repeated
    /// where a new connection is lost, once, and as long as a statement may take.
    private func onConnection<T: Sendable>(
        reads: Bool = false, _ body: @escaping @Sendable (PostgresConnection) throws -> T
    ) async throws -> T {
        let deadline = MonotonicTime.now + Int64(options.statementMilliseconds) * 1_000_000
        var isInDoubt = false
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
                            throw StorageError(
                                .unknownOutcome, "it is not known whether a write was committed: \(error)")
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
                throw StorageError(.unknownOutcome, "it is not known whether a write was committed: \(error)")
            }
        }
        throw StorageError(
            isInDoubt ? .unknownOutcome : .inputOutput, "PostgreSQL: every connection was lost, one after another")
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
        _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        _ = try begin()
        defer { end() }
        let value = try await onConnection { [self] connection in
            var mode = PostgresSQL.Mode.writing
            for attempt in 1... {
                let error: any Error
                do {
                    let (value, number) = try Self.write(connection, store, mode, body)
                    if let number { state.withLock { $0.answered = max($0.answered, number) } }
                    return value
                } catch let failure {
                    if connection.again == nil { try? connection.checkVersions() }
                    connection.rollback()
                    error = failure
                }
                guard let again = connection.again, attempt < options.attempts, !connection.isBroken else {
                    throw error
                }
                if again == .lineage { try connection.noteLineage(of: store) }
                if again == .alone || attempt >= Self.triesBesideOthers { mode = .alone }
                if again == .conflict {
                    NativeThread.sleep(nanoseconds: Int64.random(in: 100_000...Int64(attempt) * 2_000_000))
                }
            }
            throw StorageError(.busy, "other writes were in the way")
        }
        if statistics.noteWrite() && options.analyzesTables { analyzeTables() }
        return value
    }

    /// Nobody waits for it; what fails is tried again after more writes.
    private func analyzeTables() {
        Task { [pool] in
            _ = try? await pool.run { try TableStatistics.update($0) }
        }
    }

    private static func write<T: Sendable>(
        _ connection: PostgresConnection, _ store: StoreNumber, _ mode: PostgresSQL.Mode,
        _ body: (StorageTransaction) throws -> T
    ) throws -> (T, Int64?) {
        try connection.use(store)
        connection.begin(
            mode, wantsVersions: connection.again == .versions, isRepeated: connection.again != nil)
        let sequence = SequenceCounter {
            let first = try connection.takeState().firstSequence
            return (first, first + TransactionState.perTransaction - 1)
        }
        let transaction = StorageTransaction(connection, sequence: sequence)
        defer { transaction.invalidate() }
        let value = try body(transaction)
        // An operation that failed fails the write, even if the body went on.
        if let failure = transaction.failure { throw failure }
        if connection.again != nil { throw StorageError(.busy, "the transaction has to begin again") }
        for (zone, sequence) in transaction.changedZones.sorted(by: { $0.key.id < $1.key.id }) {
            try connection.noteChange(zone, sequence)
        }
        let number = connection.number
        try connection.commit()
        return (value, number)
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

    private func begin() throws -> Int64 {
        try state.withLock { state in
            if state.isClosing { throw StorageError(.closed, "the store is closed") }
            state.underWay += 1
            return state.answered
        }
    }

    private func end() {
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
