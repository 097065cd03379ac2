import Synchronization

/// Does one kind of work whenever it is woken: one pass at a time, and one more if it was woken meanwhile.
final class WorkLoop: Sendable {
    private struct State {
        var isRunning = false
        var isClosed = false
        /// Set while running: look again before stopping.
        var isWoken = false
        /// What passes began and did not wait for.
        var begun = 0
        var waiters: [CheckedContinuation<Void, Never>] = []

        /// The waiters, if there is nothing more to wait for.
        mutating func takeWaitersIfIdle() -> [CheckedContinuation<Void, Never>] {
            guard !isRunning, begun == 0 else { return [] }
            defer { waiters = [] }
            return waiters
        }
    }

    private let state = Mutex(State())

    /// Whether nothing new may be begun.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Says that there may be something to do.
    /// - Parameter pass: does it; returns false where it failed, so that trying again waits for the next wake.
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

    /// Does something beside the passes; `waitUntilIdle()` waits for it too.
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

    /// Lets what runs come to its end, and begins no further pass.
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
