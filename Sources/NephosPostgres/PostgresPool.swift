import NephosStorage
import NephosThreads

/// The connections of a server to PostgreSQL, of all its stores together: so many, each used by one thread of its own at a
/// time, as libpq blocks. What finds none free waits its turn, and is refused when that takes too long.
final class PostgresPool: @unchecked Sendable {
    private struct Waiting {
        let since: MonotonicTime
        let deadline: MonotonicTime
        /// Called once: with a connection, on a thread of the pool's, or with why there is none. Returns what answers
        /// who asked, which is called after a lost connection was noted: who asked may ask again.
        let run: (Result<PostgresConnection, any Error>) -> () -> Void
    }

    /// A thread that waits for work.
    private final class Resting {
        let condition: Condition
        /// Whether it was chosen, and is among those that rest no more.
        var isWoken = false
        init(_ lock: Lock) { condition = Condition(lock) }
    }

    /// After this time without work a thread ends; its connection stays open for the next.
    private static let restNanoseconds: Int64 = 5_000_000_000
    /// After a failure to open another connection, no further one is tried for this time.
    private static let backoffNanoseconds: Int64 = 1_000_000_000
    /// The minimum time between two lines in the log about connections that cannot be opened.
    private static let noteNanoseconds: Int64 = 60_000_000_000

    // Sendable because `lock` guards these.
    private let lock = Lock()
    private var waiting: [Waiting] = []
    private var idle: [PostgresConnection] = []
    private var threads = 0
    /// The last that began to rest is woken first: what it and the server's process know is still in caches, and of more
    /// threads than are needed the others end.
    private var resting: [Resting] = []
    private var hasWatch = false
    /// Until then no thread starts to open another connection, if there is a thread.
    private var backoffEnd: MonotonicTime?
    private var lastNote: MonotonicTime?
    private var isClosed = false
    /// Round trips of connections that were closed.
    private var formerRoundTrips = 0
    private var connections: [ObjectIdentifier: PostgresConnection] = [:]

    private let losses: ConnectionLosses
    private let meter: WaitMeter
    private let options: PostgresOptions
    private let open: @Sendable () throws -> PostgresConnection

    init(
        _ options: PostgresOptions, losses: ConnectionLosses, meter: WaitMeter,
        open: @escaping @Sendable () throws -> PostgresConnection
    ) {
        self.options = options
        self.losses = losses
        self.meter = meter
        self.open = open
    }

    /// How often the server was waited for. Exact while nothing runs.
    var roundTrips: Int { lock.withLock { formerRoundTrips + connections.values.reduce(0) { $0 + $1.roundTrips } } }

    /// Runs `body` with a connection, on a thread that may block.
    /// - Throws: what `body` throws, `StorageError` `.busy` where no connection is free in time, `.inputOutput` where none
    ///   can be made.
    func run<T: Sendable>(_ body: @escaping @Sendable (PostgresConnection) throws -> T) async throws -> T {
        try await withUnsafeThrowingContinuation { continuation in
            add { connection in
                let result = Result { try body(try connection.get()) }
                return { continuation.resume(with: result) }
            }
        }
    }

    /// Calls `run` once, and then what it returns: with a connection, on a thread that may block, or with why there is none.
    func add(_ run: @escaping (Result<PostgresConnection, any Error>) -> () -> Void) {
        lock.lock()
        guard !isClosed, waiting.count < options.waiting else {
            let error =
                isClosed
                ? StorageError(.closed, "the store is closed")
                : StorageError(.busy, "\(options.waiting) requests wait for a connection to PostgreSQL")
            lock.unlock()
            return run(.failure(error))()
        }
        let now = MonotonicTime.now
        waiting.append(Waiting(since: now, deadline: now + options.waitNanoseconds, run: run))
        var startsThread = false
        var startsWatch = false
        let rested = chooseRested()
        if rested == nil {
            if threads < options.connections, threads == 0 || !isBackingOff(now) {
                threads += 1
                startsThread = true
            } else if !hasWatch {
                (hasWatch, startsWatch) = (true, true)
            }
        }
        lock.unlock()
        // Not before: it would wait for the lock.
        rested?.signal()
        do {
            if startsThread { try NativeThread.start("postgresql") { [self] in work() } }
        } catch {
            lock.withLock { threads -= 1 }
            refuse(error) { _ in true }
        }
        if startsWatch { startWatch() }
    }

    // MARK: The threads

    private func work() {
        var connection = lock.withLock { idle.popLast() }
        let rest = Resting(lock)
        while let next = take(rest, &connection) {
            if MonotonicTime.now.nanoseconds > next.deadline.nanoseconds {
                fail(next, Self.late)
                continue
            }
            if let former = connection, former.isBroken || former.lossesBefore != losses.count {
                forget(former)
                connection = nil
            }
            let ready: PostgresConnection
            do {
                ready = try connection ?? make()
            } catch {
                if giveBack(next, error) { return }
                fail(next, error)
                continue
            }
            connection = ready
            meter.waitedForConnection(nanoseconds: MonotonicTime.now - next.since)
            let answer = next.run(.success(ready))
            if ready.isBroken { losses.note(ready) }
            answer()
        }
        if let connection { forget(connection) }
    }

    private func fail(_ waiting: Waiting, _ error: any Error) {
        meter.waitedForConnection(nanoseconds: MonotonicTime.now - waiting.since)
        waiting.run(.failure(error))()
    }

    /// Leaves a request to the other threads of the pool after a failure to open a connection for it. PostgreSQL may have
    /// no slot left while other connections of the pool become free.
    /// - Returns: whether there are other threads. This thread then ends.
    private func giveBack(_ request: Waiting, _ error: any Error) -> Bool {
        let now = MonotonicTime.now
        lock.lock()
        guard threads > 1, !isClosed else {
            lock.unlock()
            return false
        }
        threads -= 1
        waiting.insert(request, at: 0)
        backoffEnd = now + Self.backoffNanoseconds
        let rested = chooseRested()
        let startsWatch = !hasWatch
        hasWatch = true
        let isNoted = lastNote.map { now - $0 < Self.noteNanoseconds } ?? false
        if !isNoted { lastNote = now }
        let count = connections.count
        lock.unlock()
        rested?.signal()
        if startsWatch { startWatch() }
        if !isNoted {
            options.log("requests share \(count) connections to PostgreSQL, as another one failed: \(error)")
        }
        return true
    }

    /// Under the lock.
    private func isBackingOff(_ now: MonotonicTime) -> Bool {
        backoffEnd.map { now.nanoseconds < $0.nanoseconds } ?? false
    }

    /// The next waiting request; nil after the idle time or once the pool is closed. Then the thread ends, and its connection joins
    /// the idle ones.
    private func take(_ rest: Resting, _ connection: inout PostgresConnection?) -> Waiting? {
        lock.lock()
        defer { lock.unlock() }
        let end = MonotonicTime.now + Self.restNanoseconds
        while waiting.isEmpty {
            if isClosed || MonotonicTime.now.nanoseconds >= end.nanoseconds {
                threads -= 1
                if let kept = connection, !isClosed, !kept.isBroken {
                    idle.append(kept)
                    connection = nil
                }
                return nil
            }
            rest.isWoken = false
            resting.append(rest)
            _ = rest.condition.wait(until: end)
            if !rest.isWoken { resting.removeAll { $0 === rest } }
        }
        return waiting.removeFirst()
    }

    /// Chooses the thread that rested last. Under the lock.
    /// - Returns: what it waits for; nil where none rests.
    private func chooseRested() -> Condition? {
        guard let last = resting.popLast() else { return nil }
        last.isWoken = true
        return last.condition
    }

    private func make() throws -> PostgresConnection {
        let connection = try losses.opening(open)
        lock.withLock { connections[ObjectIdentifier(connection)] = connection }
        return connection
    }

    private func forget(_ connection: PostgresConnection) {
        lock.withLock {
            formerRoundTrips += connection.roundTrips
            connections[ObjectIdentifier(connection)] = nil
        }
        connection.close()
    }

    // MARK: What waits too long

    private static let late = StorageError(.busy, "no connection to PostgreSQL became free in time")

    private func startWatch() {
        do {
            try NativeThread.start("postgresql") { [self] in watch() }
        } catch {
            // The taker of a waiting request looks at its deadline too.
            lock.withLock { hasWatch = false }
        }
    }

    /// Refuses requests whose deadline has passed. Runs until none waits, and sleeps once more before it ends: a thread for
    /// each short wait would cost more.
    private func watch() {
        var isNeeded = true
        while isNeeded {
            let next = lock.withLock { waiting.first?.deadline }
            let left = next.map { max(1_000_000, $0 - MonotonicTime.now) } ?? .max
            NativeThread.sleep(nanoseconds: min(250_000_000, options.waitNanoseconds, left))
            let now = MonotonicTime.now.nanoseconds
            refuse(Self.late) { $0.deadline.nanoseconds <= now }
            isNeeded = lock.withLock {
                hasWatch = !waiting.isEmpty
                return hasWatch
            }
        }
    }

    private func refuse(_ error: any Error, _ isLate: (Waiting) -> Bool) {
        let late = lock.withLock {
            let late = waiting.filter(isLate)
            waiting.removeAll(where: isLate)
            return late
        }
        for waiting in late { waiting.run(.failure(error))() }
    }

    /// Closes the connections, each once what it does is done.
    func close() {
        let idle = lock.withLock {
            isClosed = true
            defer { self.idle = [] }
            while let rested = chooseRested() { rested.signal() }
            return self.idle
        }
        for connection in idle { forget(connection) }
        refuse(StorageError(.closed, "the store is closed")) { _ in true }
    }
}
