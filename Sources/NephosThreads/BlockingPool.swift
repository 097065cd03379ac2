/// A pool of a few threads for work that blocks. The threads start on demand and end after an idle time.
///
/// Work that waits for other work of the same pool can deadlock. So long-lived work uses a thread of its own.
package final class BlockingPool: Sendable {
    private enum Limit {
        /// The idle time in nanoseconds after which a thread ends.
        static let idle: Int64 = 10_000_000_000
    }

    package struct Options: Sendable {
        package var threads: Int
        /// The maximum number of queued works per pool.
        package var queue: Int
        /// Whether other threads get the processors first.
        package var hasLowPriority: Bool

        package init(threads: Int, queue: Int = 100_000, hasLowPriority: Bool = false) {
            self.threads = max(1, threads)
            self.queue = queue
            self.hasLowPriority = hasLowPriority
        }
    }

    private struct Work: Sendable {
        /// The number by which the work can be cancelled; 0 if it cannot be cancelled.
        let number: UInt64
        let run: @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    private final class State: @unchecked Sendable {
        // `@unchecked`: the pool uses this state only under its lock.
        var waiting = Queue<Work>()
        var threads = 0
        var idle = 0
        var lastNumber: UInt64 = 0
    }

    package let name: String
    private let options: Options
    private let lock = Lock()
    private let hasWork: Condition
    private let state = State()

    package init(_ name: String, _ options: Options) {
        self.name = name
        self.options = options
        hasWork = Condition(lock)
    }

    /// Runs `body` on one of the threads, even if the task is cancelled meanwhile.
    /// - Throws: any error of `body`, or `ThreadError`.
    package func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await run(number: 0, body)
    }

    /// Runs `body` on one of the threads, unless the task is cancelled before `body` begins.
    /// - Throws: any error of `body`, `ThreadError`, or `CancellationError` if the task is cancelled before `body`
    ///   begins.
    package func runUnlessCancelled<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        let number = lock.withLock {
            state.lastNumber += 1
            return state.lastNumber
        }
        return try await withTaskCancellationHandler {
            try await run(number: number, body)
        } onCancel: {
            cancel(number)
        }
    }

    private func run<T: Sendable>(
        number: UInt64, _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            add(
                Work(number: number) {
                    continuation.resume(with: Result { try body() })
                } fail: {
                    continuation.resume(throwing: $0)
                })
            // The task may have been cancelled before its work was queued.
            if number > 0, Task.isCancelled { cancel(number) }
        }
    }

    /// Runs `body` on one of the threads. Returns at once.
    /// - Parameter fail: called instead of `body` if no thread can be created, or if the queue is full.
    package func start(_ body: @escaping @Sendable () -> Void, orFail fail: @escaping @Sendable (any Error) -> Void) {
        add(Work(number: 0, run: body, fail: fail))
    }

    private func cancel(_ number: UInt64) {
        let work = lock.withLock { state.waiting.removeFirst { $0.number == number } }
        work?.fail(CancellationError())
    }

    private func add(_ work: Work) {
        enum Next { case waits, needsThread, isRefused }
        let next = lock.withLock { () -> Next in
            if state.waiting.count >= options.queue { return .isRefused }
            state.waiting.append(work)
            if state.waiting.count <= state.idle {
                hasWork.signal()
                return .waits
            }
            guard state.threads < options.threads else { return .waits }
            state.threads += 1
            return .needsThread
        }
        switch next {
        case .waits: break
        case .isRefused: work.fail(ThreadError.queueFull(pool: name))
        case .needsThread: startThread()
        }
    }

    private func startThread() {
        do {
            try NativeThread.start(name) { [self] in runUntilIdle() }
        } catch {
            let stranded = lock.withLock { () -> [Work] in
                state.threads -= 1
                // If the pool has threads, one of them runs the work later.
                return state.threads > 0 ? [] : state.waiting.removeAll()
            }
            for work in stranded { work.fail(error) }
        }
    }

    // MARK: The threads

    private func runUntilIdle() {
        if options.hasLowPriority { NativeThread.lowerPriority() }
        while let work = next() { work.run() }
    }

    /// Waits for the next work; nil if the thread has to end.
    private func next() -> Work? {
        lock.withLock {
            while true {
                if let work = state.waiting.popFirst() { return work }
                state.idle += 1
                let isInTime = hasWork.wait(until: .now + Limit.idle)
                state.idle -= 1
                if !isInTime, state.waiting.count == 0 {
                    state.threads -= 1
                    return nil
                }
            }
        }
    }
}
