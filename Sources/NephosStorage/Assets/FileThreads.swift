/// A few threads for the work on files, which blocks: neither the cooperative pool nor a thread that serves requests waits
/// for a disk.
///
/// They are started when they are needed, and end when nothing came for some time.
package final class FileThreads: Sendable {
    private enum Limit {
        /// How many files are worked on at a time: a disk has no use for more.
        static let threads = 4
        /// The same where files are fetched over a network, which mostly is waiting.
        static let networkThreads = 32
        /// Nanoseconds without work after which a thread ends.
        static let idle: Int64 = 10_000_000_000
    }

    /// Those of the process: all stores share them.
    package static let shared = FileThreads(limit: Limit.threads)
    /// Those for files elsewhere: a wait for a network holds up no disk.
    package static let network = FileThreads(limit: Limit.networkThreads)

    private let limit: Int
    private let lock = Lock()
    private let hasWork: Condition
    private let state: State

    private final class State: @unchecked Sendable {
        // `@unchecked`: everything is used under the lock beside it.
        var waiting: [@Sendable () -> Void] = []
        var first = 0
        var threads = 0
        var idle = 0
    }

    /// - Parameter limit: how many files are worked on at a time.
    package init(limit: Int) {
        self.limit = limit
        hasWork = Condition(lock)
        state = State()
    }

    /// Runs `body` on one of the threads.
    /// - Throws: what `body` throws.
    package func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            start { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Runs `body` on one of the threads and returns at once. Where the system has no thread left, it runs on the caller's.
    package func start(_ body: @escaping @Sendable () -> Void) {
        let needsThread = lock.withLock { () -> Bool in
            state.waiting.append(body)
            if state.waiting.count - state.first <= state.idle {
                hasWork.signal()
                return false
            }
            guard state.threads < limit else { return false }
            state.threads += 1
            return true
        }
        guard needsThread else { return }
        do {
            try EngineThread.start { [self] in work() }
        } catch {
            let rest = lock.withLock { () -> [@Sendable () -> Void] in
                state.threads -= 1
                // Another thread will come to it.
                if state.threads > 0 { return [] }
                defer {
                    state.waiting.removeAll()
                    state.first = 0
                }
                return Array(state.waiting[state.first...])
            }
            // Late is better than never.
            for body in rest { body() }
        }
    }

    private func work() {
        while let body = next() { body() }
    }

    /// The next piece of work; nil where the thread is to end.
    private func next() -> (@Sendable () -> Void)? {
        lock.withLock {
            while state.first == state.waiting.count {
                state.idle += 1
                let isInTime = hasWork.wait(until: MonotonicTime.now + Limit.idle)
                state.idle -= 1
                if !isInTime, state.first == state.waiting.count {
                    state.threads -= 1
                    return nil
                }
            }
            let body = state.waiting[state.first]
            state.first += 1
            if state.first == state.waiting.count {
                state.waiting.removeAll(keepingCapacity: true)
                state.first = 0
            }
            return body
        }
    }
}
