/// A few threads with a read connection each.
///
/// Waking a thread costs more than a short read does. So one thread runs the reads that wait, one after another, as long as
/// it comes along; a second one stands by, and helps when the first is held up by a long read or falls behind.
package final class ReadPool: @unchecked Sendable {
    enum Limit {
        /// A thread that has been at one read for longer is held up.
        static let nanoseconds: Int64 = 250_000
        /// How often the thread that stands by looks whether anything moved.
        static let standbyNanoseconds: Int64 = 500_000
        /// How many reads may wait for each thread that runs.
        static let backlog = 16
    }

    // Sendable because `lock` guards these.
    private let lock = Lock()
    private var waiting = ReadQueue()
    private var threads: [ReadThread] = []
    /// The threads that sleep, the last one on top: its pages are the freshest.
    private var sleeping: [ReadThread] = []
    private var standby: ReadThread?
    private var isClosing = false
    private var closers: [CheckedContinuation<Void, Never>] = []

    private let limit: Int
    private let open: @Sendable () throws -> any SQLConnection

    /// - Parameters:
    ///   - limit: the largest number of threads.
    ///   - open: opens a connection; called on the thread that uses it.
    package init(limit: Int, open: @escaping @Sendable () throws -> any SQLConnection) {
        self.limit = max(1, limit)
        self.open = open
    }

    // MARK: Callers

    /// Runs `body` over a snapshot.
    package func read<T: Sendable>(_ body: @escaping @Sendable (any StorageReader) throws -> T) async throws -> T {
        try await withUnsafeThrowingContinuation { continuation in
            add(Request<SQLReader, T>({ try body($0) }, continuation))
        }
    }

    private func add(_ work: any Work<SQLReader>) {
        lock.lock()
        guard !isClosing else {
            lock.unlock()
            work.answer(failure: StorageError.closed)
            return
        }
        waiting.append(work)
        let thread = needsHelp ? helper() : nil
        let starts = thread.map { !$0.isStarted } ?? false
        thread?.isStarted = true
        // From here on it counts as running, so that nobody wakes another one before it is awake.
        thread?.startedAt = .now
        lock.unlock()
        guard let thread else { return }
        if starts { start(thread) } else { thread.condition.signal() }
    }

    /// Whether the threads that run cannot be expected to get to what waits soon.
    private var needsHelp: Bool {
        let running = threads.lazy.filter { $0.startedAt != nil }
        let count = running.count
        if count == 0 || (standby == nil && threads.count > 0) || waiting.count > count * Limit.backlog { return true }
        let heldUp = MonotonicTime.now + -Limit.nanoseconds
        return running.allSatisfy { $0.startedAt.map { $0 < heldUp } ?? true }
    }

    /// A thread that can be woken or started.
    private func helper() -> ReadThread? {
        if let standby { return standby }
        if let thread = sleeping.popLast() { return thread }
        guard threads.count < limit else { return nil }
        let thread = ReadThread(lock)
        threads.append(thread)
        return thread
    }

    private func start(_ thread: ReadThread) {
        do {
            try EngineThread.start { [self] in runUntilClosed(thread) }
        } catch {
            // Another thread may do the work. If there is none, nobody will.
            let stranded = lock.withLock {
                threads.removeAll { $0 === thread }
                return threads.isEmpty ? waiting.removeAll() : []
            }
            for work in stranded { work.answer(failure: error) }
        }
    }

    /// Finishes what was handed in and closes the connections.
    package func close() async {
        await withCheckedContinuation { continuation in
            let isClosed = lock.withLock {
                if !threads.isEmpty { closers.append(continuation) }
                return threads.isEmpty
            }
            if isClosed { continuation.resume() }
            shutDown()
        }
    }

    /// Like `close()`, without waiting for it.
    package func shutDown() {
        let threads = lock.withLock {
            isClosing = true
            return self.threads
        }
        for thread in threads { thread.condition.signal() }
    }

    // MARK: The threads

    private func runUntilClosed(_ thread: ReadThread) {
        var connection: (any SQLConnection)?
        while let (work, newest) = waitForWork(thread) {
            do {
                let open = try connection ?? self.open()
                connection = open
                runSnapshot(work, newest, on: open, thread)
            } catch {
                work.answer(failure: error)
            }
        }
        connection?.close()
        let closers = lock.withLock {
            threads.removeAll { $0 === thread }
            return threads.isEmpty ? self.closers : []
        }
        for closer in closers { closer.resume() }
    }

    /// The next work, and the number of the newest that waits beside it; nil when the pool was closed and is empty.
    private func waitForWork(_ thread: ReadThread) -> (any Work<SQLReader>, newest: Int)? {
        lock.lock()
        defer { lock.unlock() }
        while true {
            if let work = waiting.popFirst() {
                thread.startedAt = .now
                return (work, waiting.added)
            }
            thread.startedAt = nil
            if isClosing { return nil }
            if standby == nil && threads.contains(where: { $0.startedAt != nil }) {
                standBy(thread)
            } else {
                sleep(thread)
            }
        }
    }

    private func sleep(_ thread: ReadThread) {
        sleeping.append(thread)
        thread.condition.wait()
        // Whoever woke it took it from the list, unless nobody did.
        sleeping.removeAll { $0 === thread }
    }

    /// Waits until it is woken, or until work waits that nobody took for a while, or until nobody runs.
    private func standBy(_ thread: ReadThread) {
        standby = thread
        defer { standby = nil }
        while !isClosing && threads.contains(where: { $0.startedAt != nil }) {
            let taken = waiting.taken
            let isWoken = thread.condition.wait(until: .now + Limit.standbyNanoseconds)
            if isWoken || thread.startedAt != nil || (waiting.count > 0 && waiting.taken == taken) { return }
        }
    }

    /// Runs `work`, and what was handed in before its snapshot was taken, over one snapshot.
    private func runSnapshot(
        _ work: any Work<SQLReader>, _ newest: Int, on connection: any SQLConnection, _ thread: ReadThread
    ) {
        do {
            try connection.begin(writing: false)
        } catch {
            work.answer(failure: error)
            return
        }
        var next: (any Work<SQLReader>)? = work
        while let work = next {
            let reader = SQLReader(connection)
            let failure = work.run(reader)
            reader.invalidate()
            next = connection.isInTransaction ? takeWork(upTo: newest, thread) : nil
            // Without more to run the snapshot ends before the answer, so that an answer leaves nothing behind.
            if next == nil { connection.rollback() }
            work.answer(failure: failure)
        }
    }

    /// The next work, if it was handed in before number `newest`.
    private func takeWork(upTo newest: Int, _ thread: ReadThread) -> (any Work<SQLReader>)? {
        lock.withLock {
            guard waiting.taken < newest, let work = waiting.popFirst() else { return nil }
            thread.startedAt = .now
            return work
        }
    }
}

/// A thread of the pool, as the others see it. The pool's lock guards it.
private final class ReadThread: @unchecked Sendable {
    let condition: Condition
    var isStarted = false
    /// Since when it runs the read that it is at; nil while it waits for one.
    var startedAt: MonotonicTime?

    init(_ lock: Lock) {
        condition = Condition(lock)
    }
}

/// First in, first out, without moving what waits.
private struct ReadQueue {
    private var works: [(any Work<SQLReader>)?] = []
    private var head = 0
    /// How many works were ever taken.
    private(set) var taken = 0

    var count: Int { works.count - head }
    /// How many works were ever added: the number of the newest.
    var added: Int { taken + count }

    mutating func append(_ work: any Work<SQLReader>) {
        works.append(work)
    }

    mutating func popFirst() -> (any Work<SQLReader>)? {
        guard head < works.count else { return nil }
        let work = works[head]
        works[head] = nil
        head += 1
        taken += 1
        if head == works.count {
            works.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1024 {
            works.removeFirst(head)
            head = 0
        }
        return work
    }

    mutating func removeAll() -> [any Work<SQLReader>] {
        defer { self = ReadQueue() }
        return works.compactMap { $0 }
    }
}
