import Glibc

/// A few threads that run the reads of all stores.
///
/// Waking a thread costs more than a short read does. So one thread runs the reads that wait, one after another, as long as
/// it comes along; a second one stands by, and helps when the first is held up by a long read or falls behind. A thread
/// that has nothing to do for a while ends.
package final class ReadThreads: @unchecked Sendable {
    enum Limit {
        /// A thread that has been at one read for longer is held up.
        static let nanoseconds: Int64 = 250_000
        /// How often the thread that stands by looks whether anything moved.
        static let standbyNanoseconds: Int64 = 500_000
        /// How many reads may wait for each thread that runs.
        static let backlog = 16
        /// After this time without work a thread ends.
        static let restNanoseconds: Int64 = 10_000_000_000
    }

    /// Those of the process: more than one store has connections, so that stores do not wait for each other's long reads.
    package static let shared = ReadThreads(limit: max(8, 2 * processors))

    /// Those that run long reads, of all stores: so few that one processor is left to everything else, and connections are.
    package static let forLongReads = ReadThreads(limit: min(max(1, processors - 1), 2), isForLongReads: true)

    private static let processors = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    private struct Read: Sendable {
        let run: @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    // Sendable because `lock` guards these.
    private let lock = Lock()
    private var waiting = ReadQueue<Read>()
    private var threads: [ReadThread] = []
    /// The threads that sleep, the last one on top: its pages are the freshest.
    private var sleeping: [ReadThread] = []
    private var standby: ReadThread?
    private let limit: Int
    private let isForLongReads: Bool

    /// - Parameters:
    ///   - limit: the largest number of threads.
    ///   - isForLongReads: whether they leave the processors to others.
    package init(limit: Int, isForLongReads: Bool = false) {
        self.limit = max(1, limit)
        self.isForLongReads = isForLongReads
    }

    // MARK: Callers

    /// Runs `read` on one of the threads.
    /// - Parameter fail: is called instead where there is no thread, and none can be started.
    func run(_ read: @escaping @Sendable () -> Void, orFail fail: @escaping @Sendable (any Error) -> Void) {
        lock.lock()
        waiting.append(Read(run: read, fail: fail))
        let thread = needsHelp ? helper() : nil
        let starts = thread.map { !$0.isStarted } ?? false
        thread?.isStarted = true
        // From here on it counts as running, so that no other is woken before it is awake.
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
            try EngineThread.start { [self] in
                if isForLongReads { EngineThread.lowerPriority() }
                runUntilRest(thread)
            }
        } catch {
            // Another thread may do the work. If there is none, no thread will.
            let stranded = lock.withLock {
                threads.removeAll { $0 === thread }
                return threads.isEmpty ? waiting.removeAll() : []
            }
            for read in stranded { read.fail(error) }
        }
    }

    // MARK: The threads

    private func runUntilRest(_ thread: ReadThread) {
        while let read = waitForWork(thread) { read.run() }
    }

    /// The next read; nil when there was none for a while.
    private func waitForWork(_ thread: ReadThread) -> Read? {
        lock.lock()
        defer { lock.unlock() }
        while true {
            if let read = waiting.popFirst() {
                thread.startedAt = .now
                return read
            }
            thread.startedAt = nil
            if standby == nil && threads.contains(where: { $0.startedAt != nil }) {
                standBy(thread)
            } else if !sleep(thread), thread.startedAt == nil, waiting.count == 0 {
                threads.removeAll { $0 === thread }
                return nil
            }
        }
    }

    /// - Returns: whether it was woken.
    private func sleep(_ thread: ReadThread) -> Bool {
        sleeping.append(thread)
        let isWoken = thread.condition.wait(until: .now + Limit.restNanoseconds)
        // Its waker took it from the list; a timeout did not.
        sleeping.removeAll { $0 === thread }
        return isWoken
    }

    /// Waits until it is woken, or until work waited for a while, or until no thread runs.
    private func standBy(_ thread: ReadThread) {
        standby = thread
        defer { standby = nil }
        while threads.contains(where: { $0.startedAt != nil }) {
            let taken = waiting.taken
            let isWoken = thread.condition.wait(until: .now + Limit.standbyNanoseconds)
            if isWoken || thread.startedAt != nil || (waiting.count > 0 && waiting.taken == taken) { return }
        }
    }
}

/// One of the threads, as the others see it. Their lock guards it.
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
struct ReadQueue<Element> {
    private var elements: [Element?] = []
    private var head = 0
    /// How many were ever taken.
    private(set) var taken = 0

    var count: Int { elements.count - head }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head]
        elements[head] = nil
        head += 1
        taken += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1024 {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    mutating func removeAll() -> [Element] {
        defer { self = ReadQueue() }
        return elements.compactMap { $0 }
    }
}
