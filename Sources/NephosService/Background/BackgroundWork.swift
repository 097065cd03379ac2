import NephosStorage
import Synchronization

/// Does the jobs of one store, one at a time, as long as there are any. They are in the store, so what a crash
/// interrupts goes on when the store is opened again.
final class BackgroundWork: Sendable {
    private struct State {
        var isRunning = false
        var isClosed = false
        /// Set while running: look again before stopping.
        var isWoken = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let engine: any StorageEngine
    private let environment: ServiceEnvironment
    private let indexes: IndexCatalog
    private let accounts: Accounts
    private let state = Mutex(State())

    init(
        engine: any StorageEngine, environment: ServiceEnvironment, indexes: IndexCatalog, accounts: Accounts
    ) {
        self.engine = engine
        self.environment = environment
        self.indexes = indexes
        self.accounts = accounts
    }

    /// Says that there may be jobs.
    func wake() {
        let starts = state.withLock { state in
            if state.isClosed { return false }
            if state.isRunning {
                state.isWoken = true
                return false
            }
            state.isRunning = true
            return true
        }
        if starts { Task { await self.run() } }
    }

    /// Returns once no job is left, or a job failed (it is tried again at the next wake).
    func settle() async {
        wake()
        await waitUntilIdle()
    }

    /// Stops after the step that is being done.
    func close() async {
        state.withLock { $0.isClosed = true }
        await waitUntilIdle()
    }

    private func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.isRunning { state.waiters.append(continuation) }
                return !state.isRunning
            }
            if isIdle { continuation.resume() }
        }
    }

    private func run() async {
        while true {
            let finished = await doJobs()
            let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
                if finished && state.isWoken && !state.isClosed {
                    state.isWoken = false
                    return nil
                }
                state.isRunning = false
                state.isWoken = false
                defer { state.waiters = [] }
                return state.waiters
            }
            guard let waiters else { continue }
            for waiter in waiters { waiter.resume() }
            return
        }
    }

    /// - Returns: false where a job failed.
    private func doJobs() async -> Bool {
        do {
            while !state.withLock({ $0.isClosed }) {
                guard let job = try await engine.read({ try $0.jobs(limit: 1) }).first else { return true }
                try await engine.write { [environment, indexes, accounts] transaction in
                    let writer = IndexWriter(definitions: try indexes.definitions(in: transaction), accounts: accounts)
                    try BackgroundStep(job: job, environment: environment, indexes: writer).run(in: transaction)
                }
            }
            return true
        } catch {
            environment.log("background work stopped: \(error)")
            return false
        }
    }
}
