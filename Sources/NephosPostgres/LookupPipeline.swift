import NephosStorage
import NephosThreads

/// Batches lookups of single records, of all stores, in libpq's pipeline mode on connections of its own: a batch costs one round
/// trip and one sync. A lookup that fails, or cannot be batched, falls back to a read transaction.
final class LookupPipeline: @unchecked Sendable {
    private struct Waiting {
        let lookup: ZoneLookup
        /// Called once.
        let resume: (ZoneLookup.Row?) -> Void
    }

    private static let batch = 16
    private static let mostWaiting = 256
    /// The limit of the memory of rows that callers hold, in bytes; the last batch of each connection may exceed it.
    private static let mostBytes = 16 << 20

    // Sendable because `lock` guards these.
    private let lock = Lock()
    private var waiting: [Waiting] = []
    /// The start times of the running batches, by their numbers.
    private var underWay: [Int: MonotonicTime] = [:]
    /// The end of the backoff after a failed lookup or a lost connection.
    private var backoff: MonotonicTime?
    private var heldBytes = 0
    private var isClosed = false

    private let pool: PostgresPool
    private let mostBatches: Int
    private let backoffNanoseconds: Int64
    private let patienceNanoseconds: Int64

    /// - Parameters:
    ///   - batches: the most batches at the same time, each on a connection of its own.
    ///   - backoffNanoseconds: how long lookups fall back after a failure.
    ///   - patienceNanoseconds: the latency after which a batch counts as stalled, and later lookups fall back.
    init(
        batches: Int, losses: ConnectionLosses, backoffNanoseconds: Int64 = 1_000_000_000,
        patienceNanoseconds: Int64 = 10_000_000, open: @escaping @Sendable () throws -> PostgresConnection
    ) {
        mostBatches = batches
        self.backoffNanoseconds = backoffNanoseconds
        self.patienceNanoseconds = patienceNanoseconds
        pool = PostgresPool(PostgresOptions(connections: batches), losses: losses, meter: WaitMeter(), open: open)
    }

    /// How often the server was waited for. Exact while nothing runs.
    var roundTrips: Int { pool.roundTrips }

    /// - Returns: the row, which the caller gives to `release` after use; nil where the lookup falls back to a read transaction.
    func row(of lookup: ZoneLookup) async -> ZoneLookup.Row? {
        await withUnsafeContinuation { continuation in
            add(Waiting(lookup: lookup) { continuation.resume(returning: $0) })
        }
    }

    func release(_ row: ZoneLookup.Row) { lock.withLock { heldBytes -= row.bytes } }

    private func add(_ next: Waiting) {
        let (refused, number) = lock.withLock { () -> ([Waiting], Int?) in
            if isClosed || waiting.count >= Self.mostWaiting || heldBytes >= Self.mostBytes || isBackedOff {
                return ([next], nil)
            }
            waiting.append(next)
            return isStalled ? (takeWaiting(), nil) : ([], beginBatch())
        }
        for waiting in refused { waiting.resume(nil) }
        if let number { run(number) }
    }

    // MARK: Under the lock

    private var isStalled: Bool {
        if underWay.isEmpty { return false }
        let now = MonotonicTime.now
        return underWay.values.contains { now - $0 > patienceNanoseconds }
    }

    private var isBackedOff: Bool {
        guard let end = backoff else { return false }
        if MonotonicTime.now >= end { backoff = nil }
        return backoff != nil
    }

    private func takeWaiting(_ count: Int = .max) -> [Waiting] {
        defer { waiting.removeFirst(min(count, waiting.count)) }
        return Array(waiting.prefix(count))
    }

    /// Starts a batch, unless the batch after a running one has room for all waiting lookups.
    private func beginBatch() -> Int? {
        guard underWay.isEmpty || waiting.count > Self.batch else { return nil }
        let number = (0..<mostBatches).first { underWay[$0] == nil }
        if let number { underWay[number] = .now }
        return number
    }

    // MARK: Batches

    /// Runs a batch on the next free connection, and then the batch that follows.
    private func run(_ number: Int) {
        pool.add { [self] connection in
            let batch = lock.withLock { takeWaiting(Self.batch) }
            let rows = try? connection.get().look(up: batch.map(\.lookup))
            let (refused, next) = end(number, rows, hasFailed: rows?.count != batch.count)
            return { [self] in
                for (index, waiting) in batch.enumerated() {
                    waiting.resume(rows.flatMap { index < $0.count ? $0[index] : nil })
                }
                for waiting in refused { waiting.resume(nil) }
                if let next { run(next) }
            }
        }
    }

    /// - Returns: waiting lookups that fall back, and the number of the batch that follows.
    private func end(_ number: Int, _ rows: [ZoneLookup.Row]?, hasFailed: Bool) -> ([Waiting], Int?) {
        lock.withLock {
            underWay[number] = nil
            heldBytes += rows?.reduce(0) { $0 + $1.bytes } ?? 0
            if hasFailed {
                backoff = .now + backoffNanoseconds
                return (takeWaiting(), nil)
            }
            if waiting.isEmpty { return ([], nil) }
            underWay[number] = .now
            return ([], number)
        }
    }

    /// Closes the connections, each once what it does is done.
    func close() {
        let refused = lock.withLock {
            isClosed = true
            return takeWaiting()
        }
        pool.close()
        for waiting in refused { waiting.resume(nil) }
    }
}
