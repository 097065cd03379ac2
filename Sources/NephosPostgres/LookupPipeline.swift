import NephosStorage

/// Reads single records for many callers at once, on connections of its own: those that wait go in one pipeline with one sync,
/// so that a record has neither a round trip nor a wake-up to itself. What goes wrong is left to ordinary reads.
final class LookupPipeline: @unchecked Sendable {
    private struct Waiting {
        let lookup: ZoneLookup
        /// Called once.
        let resume: (ZoneLookup.Row?) -> Void
    }

    /// As many results are in memory at a time as ordinary reads would have there.
    private static let batch = 16
    private static let mostWaiting = 256
    /// After this time under way a batch is held up by something, and other lookups should not be.
    private static let patienceNanoseconds: Int64 = 10_000_000
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
    private var isClosed = false
    private var trips = 0

    private let mostThreads: Int
    private let open: @Sendable () throws -> PostgresConnection

    /// - Parameter threads: the most batches at the same time, each on a connection of its own.
    init(threads: Int, open: @escaping @Sendable () throws -> PostgresConnection) {
        mostThreads = threads
        self.open = open
        condition = Condition(lock)
    }

    /// How often the server was waited for. Exact while nothing runs.
    var roundTrips: Int { lock.withLock { trips } }

    /// - Returns: nil where it should be an ordinary read.
    func row(of lookup: ZoneLookup) async -> ZoneLookup.Row? {
        await withUnsafeContinuation { continuation in
            if !add(Waiting(lookup: lookup) { continuation.resume(returning: $0) }) {
                continuation.resume(returning: nil)
            }
        }
    }

    private func add(_ next: Waiting) -> Bool {
        lock.lock()
        guard !isClosed, waiting.count < Self.mostWaiting, !isHeldUp else {
            lock.unlock()
            return false
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
        return true
    }

    /// Under the lock.
    private var isHeldUp: Bool {
        if underWay.isEmpty { return false }
        let now = MonotonicTime.now
        return underWay.values.contains { now - $0 > Self.patienceNanoseconds }
    }

    // MARK: The threads

    private func start(_ number: Int) {
        do {
            try EngineThread.start { [self] in work(number) }
        } catch {
            lock.withLock { _ = threads.remove(number) }
            refuseWaiting()
        }
    }

    private func work(_ number: Int) {
        var connection = lock.withLock { idle.popLast() }
        while let batch = take(number) {
            let (rows, used) = read(batch, connection)
            connection = used
            lock.withLock { underWay[number] = nil }
            for (index, waiting) in batch.enumerated() { waiting.resume(index < rows.count ? rows[index] : nil) }
        }
        let isOver = lock.withLock {
            threads.remove(number)
            if !isClosed, let connection { idle.append(connection) }
            return isClosed
        }
        if isOver { connection?.close() }
    }

    /// Those of one store that wait; nil where none came for a while, or the pipeline is closed.
    private func take(_ number: Int) -> [Waiting]? {
        lock.lock()
        defer { lock.unlock() }
        let end = MonotonicTime.now + Self.restNanoseconds
        while waiting.isEmpty {
            if isClosed || MonotonicTime.now >= end { return nil }
            resting += 1
            _ = condition.wait(until: end)
            resting -= 1
        }
        let schema = waiting[0].lookup.schema
        let count = waiting.prefix(Self.batch).prefix { $0.lookup.schema == schema }.count
        defer { waiting.removeFirst(count) }
        underWay[number] = .now
        return Array(waiting.prefix(count))
    }

    /// - Returns: the rows, none where they could not be read, and the connection that can be used again.
    private func read(
        _ batch: [Waiting], _ former: PostgresConnection?
    ) -> ([ZoneLookup.Row], PostgresConnection?) {
        guard let connection = try? former ?? open() else { return ([], nil) }
        let before = former?.roundTrips ?? 0
        defer { lock.withLock { trips += connection.roundTrips - before } }
        do {
            return (try connection.look(up: batch.map(\.lookup)), connection)
        } catch {
            connection.close()
            return ([], nil)
        }
    }

    private func refuseWaiting() {
        let refused = lock.withLock {
            defer { waiting = [] }
            return waiting
        }
        for waiting in refused { waiting.resume(nil) }
    }

    /// Closes the connections, each once what it does is done.
    func close() {
        let idle = lock.withLock {
            isClosed = true
            defer { self.idle = [] }
            return self.idle
        }
        condition.broadcast()
        for connection in idle { connection.close() }
        refuseWaiting()
    }
}
