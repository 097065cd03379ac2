import Synchronization

/// Runs one kind of work when woken: one pass at a time, and another if it was woken during the pass.
final class WorkLoop: Sendable {
    private struct State {
        var isRunning = false
        var isClosed = false
        /// Woken during a pass: run another before stopping.
        var isWoken = false
        /// The number of tasks that `begin` started and that still run.
        var begun = 0
        var waiters: [CheckedContinuation<Void, Never>] = []

        /// Takes the waiters if the loop is idle.
        mutating func takeWaitersIfIdle() -> [CheckedContinuation<Void, Never>] {
            guard !isRunning, begun == 0 else { return [] }
            defer { waiters = [] }
            return waiters
        }
    }

    private let state = Mutex(State())

    /// Whether no new pass may begin.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Wakes the loop: there may be work.
    /// - Parameter pass: does the work; returns false if it failed, so that the retry waits for the next wake.
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

    /// Starts work concurrent with the passes; `waitUntilIdle()` waits for it too.
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

    /// Waits for the running pass, and begins no other.
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
