import NephosStorage
import NephosThreads

/// Batches lookups of single records, of all stores, in libpq's pipeline mode on dedicated connections: a batch costs one round
/// trip and one sync. A lookup that fails, or cannot be batched, falls back to a read transaction of the pool's.
final class LookupPipeline: @unchecked Sendable {
    private struct Waiting {
        let lookup: ZoneLookup
        /// Called once.
        let resume: (ZoneLookup.Row?) -> Void
    }

    private static let batch = 16
    private static let mostWaiting = 256
    /// The limit of the memory of rows that callers hold, in bytes; each thread's last batch may exceed it.
    private static let mostBytes = 16 << 20
    /// The latency after which a batch counts as stalled, and later lookups fall back.
    private static let patienceNanoseconds: Int64 = 10_000_000
    /// The idle time after which a thread ends; its connection stays open.
    private static let restNanoseconds: Int64 = 5_000_000_000

    // Sendable because `lock` guards these.
    private let lock = Lock()
    private let condition: Condition
    private var waiting: [Waiting] = []
    /// When the batches that are under way began, by their threads' numbers.
    private var underWay: [Int: MonotonicTime] = [:]
    private var threads: Set<Int> = []
    private var resting = 0
    private var idle: [PostgresConnection] = []
    /// The end of the backoff after a failed lookup or a lost connection.
    private var backoff: MonotonicTime?
    private var heldBytes = 0
    private var isClosed = false
    private var trips = 0

    private let mostThreads: Int
    private let backoffNanoseconds: Int64
    private let losses: ConnectionLosses
    private let open: @Sendable () throws -> PostgresConnection

    /// - Parameters:
    ///   - threads: the most batches at the same time, each on a connection of its own.
    ///   - backoffNanoseconds: how long lookups fall back after a failure.
    init(
        threads: Int, losses: ConnectionLosses, backoffNanoseconds: Int64 = 1_000_000_000,
        open: @escaping @Sendable () throws -> PostgresConnection
    ) {
        mostThreads = threads
        self.backoffNanoseconds = backoffNanoseconds
        self.losses = losses
        self.open = open
        condition = Condition(lock)
    }

    /// How often the server was waited for. Exact while nothing runs.
    var roundTrips: Int { lock.withLock { trips } }

    /// - Returns: the row, which the caller gives to `release` after use; nil where the lookup falls back to a read transaction.
    func row(of lookup: ZoneLookup) async -> ZoneLookup.Row? {
        await withUnsafeContinuation { continuation in
            add(Waiting(lookup: lookup) { continuation.resume(returning: $0) })
        }
    }

    func release(_ row: ZoneLookup.Row) { lock.withLock { heldBytes -= row.bytes } }

    private func add(_ next: Waiting) {
        lock.lock()
        guard !isClosed, waiting.count < Self.mostWaiting, heldBytes < Self.mostBytes, !isBackedOff
        else {
            lock.unlock()
            return next.resume(nil)
        }
        if isStalled {
            let refused = takeWaiting()
            lock.unlock()
            for waiting in refused + [next] { waiting.resume(nil) }
            return
        }
        waiting.append(next)
        // A thread that is at work takes it with its next batch, unless that is full.
        let wantsThread = underWay.isEmpty || waiting.count > Self.batch
        let wakes = wantsThread && resting > 0
        var started: Int?
        if wantsThread, resting == 0, let number = (0..<mostThreads).first(where: { !threads.contains($0) }) {
            threads.insert(number)
            started = number
        }
        lock.unlock()
        // Not before: it would wait for the lock.
        if wakes { condition.signal() }
        if let started { start(started) }
    }

    // MARK: Under the lock

    private var isStalled: Bool {
        if underWay.isEmpty { return false }
        let now = MonotonicTime.now
        return underWay.values.contains { now - $0 > Self.patienceNanoseconds }
    }

    private var isBackedOff: Bool {
        guard let end = backoff else { return false }
        if MonotonicTime.now >= end { backoff = nil }
        return backoff != nil
    }

    private func takeWaiting() -> [Waiting] {
        defer { waiting = [] }
        return waiting
    }

    // MARK: The threads

    private func start(_ number: Int) {
        do {
            try NativeThread.start("postgresql") { [self] in work(number) }
        } catch {
            let refused = lock.withLock {
                threads.remove(number)
                return takeWaiting()
            }
            for waiting in refused { waiting.resume(nil) }
        }
    }

    private func work(_ number: Int) {
        var connection = lock.withLock { idle.popLast() }
        while let batch = take(number, &connection) {
            let (rows, refused) = read(batch, number, &connection)
            for (index, waiting) in batch.enumerated() { waiting.resume(index < rows.count ? rows[index] : nil) }
            for waiting in refused { waiting.resume(nil) }
        }
        connection?.close()
    }

    /// The next batch; nil after the idle time or once the pipeline is closed. Then the thread ends, and its connection joins the
    /// idle ones.
    private func take(_ number: Int, _ connection: inout PostgresConnection?) -> [Waiting]? {
        lock.lock()
        defer { lock.unlock() }
        let end = MonotonicTime.now + Self.restNanoseconds
        while waiting.isEmpty {
            if isClosed || MonotonicTime.now >= end {
                threads.remove(number)
                if !isClosed, let kept = connection {
                    idle.append(kept)
                    connection = nil
                }
                return nil
            }
            resting += 1
            _ = condition.wait(until: end)
            resting -= 1
        }
        let count = min(Self.batch, waiting.count)
        defer { waiting.removeFirst(count) }
        underWay[number] = .now
        return Array(waiting.prefix(count))
    }

    /// - Returns: the rows, fewer than the batch where one failed, and waiting lookups that fall back.
    private func read(
        _ batch: [Waiting], _ number: Int, _ connection: inout PostgresConnection?
    ) -> ([ZoneLookup.Row], [Waiting]) {
        var rows: [ZoneLookup.Row] = []
        var made = 0
        do {
            if let former = connection, former.lossesBefore != losses.count {
                former.close()
                connection = nil
            }
            let ready = try connection ?? losses.opening(open)
            connection = ready
            let before = ready.roundTrips
            defer { made = ready.roundTrips - before }
            rows = try ready.look(up: batch.map(\.lookup))
        } catch {
            if let lost = connection {
                if lost.isBroken { losses.note(lost) }
                lost.close()
            }
            connection = nil
        }
        return lock.withLock {
            underWay[number] = nil
            trips += made
            heldBytes += rows.reduce(0) { $0 + $1.bytes }
            if connection != nil && rows.count == batch.count { return (rows, []) }
            backoff = .now + backoffNanoseconds
            return (rows, takeWaiting())
        }
    }

    /// Closes the connections, each once what it does is done.
    func close() {
        let (idle, refused) = lock.withLock {
            isClosed = true
            defer { self.idle = [] }
            return (self.idle, takeWaiting())
        }
        condition.broadcast()
        for connection in idle { connection.close() }
        for waiting in refused { waiting.resume(nil) }
    }
}
