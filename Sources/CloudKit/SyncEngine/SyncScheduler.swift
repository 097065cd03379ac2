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
        var failures = 0
        while let (work, body, abandoned) = next() {
            switch await ServiceDirectory.$scoped.withValue(directory, operation: { await body(work) }) {
            case .nothingLeft: failures = 0
            case .left(let left, let after):
                failures += 1
                try? await environment.sleep(wait(failures, after))
                state.withLock { state in
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
            defer { state.wanted = [] }
            return (state.wanted, body, state.abandoned)
        }
    }

    private func wait(_ failures: Int, _ retryAfter: Double?) -> Double {
        RetryDelay.seconds(afterFailures: failures, retryAfter: retryAfter, random: environment.random())
    }
}
