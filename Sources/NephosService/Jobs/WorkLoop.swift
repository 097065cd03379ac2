import Synchronization

/// Runs one kind of work when woken. One pass runs at a time; if the loop is woken during a pass, another pass follows.
final class WorkLoop: Sendable {
    private struct State {
        var isRunning = false
        var isClosed = false
        /// Whether the loop was woken during the running pass, so that another pass must follow.
        var isWoken = false
        /// The number of running tasks that `begin` started.
        var begun = 0
        var waiters: [CheckedContinuation<Void, Never>] = []

        /// Removes and returns the waiters if the loop is idle; returns none otherwise.
        mutating func takeWaitersIfIdle() -> [CheckedContinuation<Void, Never>] {
            guard !isRunning, begun == 0 else { return [] }
            defer { waiters = [] }
            return waiters
        }
    }

    private let state = Mutex(State())

    /// Whether the loop is closed, so that no new pass may begin.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Wakes the loop, because there may be work.
    /// - Parameter pass: does the work. Returns false if it failed; the loop then retries at the next wake.
    func wake(_ pass: @escaping @Sendable () async -> Bool) {
        let starts = state.withLock { state in
            if state.isClosed { return false }
            if state.isRunning {
                state.isWoken = true
                return false
            }
            state.isRunning = true
            return true
        }
        if starts { Task { await self.run(pass) } }
    }

    /// Starts work that runs concurrently with the passes. `waitUntilIdle()` waits for this work too.
    func begin(_ work: @escaping @Sendable () async -> Void) {
        state.withLock { $0.begun += 1 }
        Task {
            await work()
            let waiters = state.withLock { state in
                state.begun -= 1
                return state.takeWaitersIfIdle()
            }
            for waiter in waiters { waiter.resume() }
        }
    }

    func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let waiters = state.withLock { state in
                state.waiters.append(continuation)
                return state.takeWaitersIfIdle()
            }
            for waiter in waiters { waiter.resume() }
        }
    }

    /// Waits for the running pass, and starts no other pass.
    func close() async {
        state.withLock { $0.isClosed = true }
        await waitUntilIdle()
    }

    private func run(_ pass: @Sendable () async -> Bool) async {
        while true {
            let hasSucceeded = await pass()
            let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
                let goesOn = hasSucceeded && state.isWoken && !state.isClosed
                state.isWoken = false
                if goesOn { return nil }
                state.isRunning = false
                return state.takeWaitersIfIdle()
            }
            guard let waiters else { continue }
            for waiter in waiters { waiter.resume() }
            return
        }
    }
}
