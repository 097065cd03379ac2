/// Schedules the automatic work of a sync engine. Each failure lengthens the delay of the next retry (back-off).
final class SyncScheduler: Sendable {
    /// A set of the kinds of work.
    struct Work: OptionSet, Sendable {
        let rawValue: Int
        static let fetch = Work(rawValue: 1)
        static let send = Work(rawValue: 2)
    }

    enum Outcome: Sendable {
        case nothingLeft
        /// Some work remains and is retried, but not before the service's delay in seconds, if there is one.
        case left(Work, after: Double?)
    }

    private struct State {
        var wanted: Work = []
        var isRunning = false
        /// Whether the task sleeps until the next retry.
        var isSleeping = false
        /// The number of failures since the last success.
        var failures = 0
        var isStopped = false
        var task: Task<Void, Never>?
        var body: (@Sendable (Work) async -> Outcome)?
        /// The number of calls of `giveUp` so far.
        var abandoned = 0
    }

    private let environment: SyncEngineEnvironment
    /// The directory of the task that made the engine: the work runs there, whichever task schedules it.
    private let directory = ServiceDirectory.scoped
    private let state = Locked(State())

    init(_ environment: SyncEngineEnvironment) { self.environment = environment }

    /// Sets the closure that does the work.
    func start(_ body: @escaping @Sendable (Work) async -> Outcome) {
        state.withLock { $0.body = body }
    }

    /// Schedules work. Work that is scheduled several times before it starts runs once.
    func schedule(_ work: Work) {
        state.withLock { state in
            state.wanted.formUnion(work)
            guard !state.isRunning, !state.isStopped else { return }
            state.isRunning = true
            state.task = environment.start { await self.work() }
        }
    }

    /// Schedules work that does not wait for the next retry.
    func scheduleNow(_ work: Work) {
        schedule(work)
        state.withLock { if $0.isSleeping { $0.task?.cancel() } }
    }

    /// Cancels all scheduled work and all retries.
    func giveUp() {
        state.withLock { state in
            state.wanted = []
            state.abandoned += 1
            state.task?.cancel()
        }
    }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.body = nil
            state.task?.cancel()
        }
    }

    private func work() async {
        while let (work, body, abandoned) = next() {
            switch await ServiceDirectory.$scoped.withValue(directory, operation: { await body(work) }) {
            case .nothingLeft: state.withLock { $0.failures = 0 }
            case .left(let left, let after):
                let failures = state.withLock { state in
                    state.isSleeping = true
                    state.failures += 1
                    return state.failures
                }
                try? await environment.sleep(wait(failures, after))
                state.withLock { state in
                    state.isSleeping = false
                    if state.abandoned == abandoned { state.wanted.formUnion(left) }
                }
            }
        }
    }

    private func next() -> (Work, @Sendable (Work) async -> Outcome, abandoned: Int)? {
        state.withLock { state in
            guard let body = state.body, !state.isStopped, !state.wanted.isEmpty else {
                state.isRunning = false
                state.task = nil
                return nil
            }
            // Work that was scheduled after the cancellation is not cancelled.
            if Task.isCancelled {
                state.task = environment.start { await self.work() }
                return nil
            }
            defer { state.wanted = [] }
            return (state.wanted, body, state.abandoned)
        }
    }

    private func wait(_ failures: Int, _ retryAfter: Double?) -> Double {
        RetryDelay.seconds(afterFailures: failures, retryAfter: retryAfter, random: environment.random())
    }
}
