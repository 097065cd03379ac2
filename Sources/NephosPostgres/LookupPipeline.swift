import NephosStorage

/// Reads single records for many callers at once, of all stores, on connections of its own: those that wait go in one pipeline
/// with one sync, so that a record has neither a round trip nor a wake-up to itself. What goes wrong is left to ordinary reads.
final class LookupPipeline: @unchecked Sendable {
    private struct Waiting {
        let lookup: ZoneLookup
        /// Called once.
        let resume: (ZoneLookup.Row?) -> Void
    }

    private static let batch = 16
    private static let mostWaiting = 256
    /// Bytes of rows that callers may hold: with those that arrive no more than ordinary reads have in memory.
    private static let mostBytes = 16 << 20
    /// After this time under way a batch is held up by something, and other lookups should not be.
    private static let patienceNanoseconds: Int64 = 10_000_000
    /// After a failure nothing is tried for so long.
    private static let pauseNanoseconds: Int64 = 1_000_000_000
    /// After this time without work a thread ends; its connection stays open for the next.
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
    /// Until when a store's lookups are ordinary reads, and all.
    private var pauses: [String: MonotonicTime] = [:]
    private var pause: MonotonicTime?
    private var heldBytes = 0
    private var isClosed = false
    private var trips = 0

    private let mostThreads: Int
    private let losses: ConnectionLosses
    private let open: @Sendable () throws -> PostgresConnection

    /// - Parameter threads: the most batches at the same time, each on a connection of its own.
    init(threads: Int, losses: ConnectionLosses, open: @escaping @Sendable () throws -> PostgresConnection) {
        mostThreads = threads
        self.losses = losses
        self.open = open
        condition = Condition(lock)
    }

    /// How often the server was waited for. Exact while nothing runs.
    var roundTrips: Int { lock.withLock { trips } }

    /// - Returns: the row, to be given to `release` when it is not used any more; nil where it should be an ordinary read.
    func row(of lookup: ZoneLookup) async -> ZoneLookup.Row? {
        await withUnsafeContinuation { continuation in
            add(Waiting(lookup: lookup) { continuation.resume(returning: $0) })
        }
    }

    func release(_ row: ZoneLookup.Row) { lock.withLock { heldBytes -= row.bytes } }

    private func add(_ next: Waiting) {
        lock.lock()
        guard !isClosed, waiting.count < Self.mostWaiting, heldBytes < Self.mostBytes, !isPaused(next.lookup.schema)
        else {
            lock.unlock()
            return next.resume(nil)
        }
        if isHeldUp {
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

    private var isHeldUp: Bool {
        if underWay.isEmpty { return false }
        let now = MonotonicTime.now
        return underWay.values.contains { now - $0 > Self.patienceNanoseconds }
    }

    private func isPaused(_ schema: String) -> Bool {
        if pause == nil && pauses.isEmpty { return false }
        let now = MonotonicTime.now
        if let pause, pause > now { return true }
        pause = nil
        pauses = pauses.filter { $0.value > now }
        return pauses[schema] != nil
    }

    private func takeWaiting() -> [Waiting] {
        defer { waiting = [] }
        return waiting
    }

    // MARK: The threads

    private func start(_ number: Int) {
        do {
            try EngineThread.start { [self] in work(number) }
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

    /// Those that wait; nil where none came for a while, or the pipeline is closed, and the thread ends. Then the connection is
    /// kept for the next one.
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

    /// - Returns: the rows, of fewer than the batch where one failed, and others that are to be read in another way.
    private func read(
        _ batch: [Waiting], _ number: Int, _ connection: inout PostgresConnection?
    ) -> ([ZoneLookup.Row], [Waiting]) {
        var rows: [ZoneLookup.Row] = []
        var failed: String?
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
            (rows, failed) = try ready.look(up: batch.map(\.lookup))
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
            if let failed { pauses[failed] = .now + Self.pauseNanoseconds }
            if connection != nil { return (rows, []) }
            pause = .now + Self.pauseNanoseconds
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
