/// Schedules the automatic work of a sync engine. Each kind of work has its own back-off: a failure lengthens the delay of
/// the next retry of that kind.
final class SyncScheduler: Sendable {
    /// A set of the kinds of work.
    struct Work: OptionSet, Sendable {
        let rawValue: Int
        static let fetch = Work(rawValue: 1)
        static let send = Work(rawValue: 2)
        static let kinds: [Work] = [.fetch, .send]
    }

    /// The work of one run.
    struct Job: Sendable {
        var work: Work
        /// The zones that wait for a retry, by the kind of work: the run leaves them out.
        fileprivate var held: [Int: Set<CKRecordZone.ID>] = [:]

        func heldZoneIDs(_ kind: Work) -> Set<CKRecordZone.ID> { held[kind.rawValue] ?? [] }
    }

    /// Failed work, and when it is retried.
    struct Retry: Sendable {
        var work: Work
        /// The delay in seconds that the service requests, if there is one.
        var after: Double?
        /// The zones that wait for the retry; nil if no request of the kind can succeed, so that all its work waits.
        var zoneIDs: Set<CKRecordZone.ID>?
        /// Whether the first such retry in a row needs no delay.
        var beginsAtOnce = false
    }

    /// The result of one run.
    struct Outcome: Sendable {
        /// The kinds of work that were done without a failure.
        var succeeded: Work = []
        /// Whether the run sent a change.
        var hasSent = false
        var retries: [Retry] = []
    }

    typealias Body = @Sendable (Job) async -> Outcome

    /// A task that sleeps until a retry.
    private struct Sleeper {
        let id: Int
        var work: Work
        var zoneIDs: Set<CKRecordZone.ID>?
        var task: Task<Void, Never>?
    }

    private struct State {
        var wanted: Work = []
        var sleepers: [Sleeper] = []
        var nextSleeper = 0
        /// The number of failures since the last success, by the kind of work.
        var failures: [Int: Int] = [:]
        /// The number of retries without a delay at the first since a change was last sent.
        var fruitless = 0
        /// The task that runs jobs; nil if none does.
        var task: Task<Void, Never>?
        var isInterrupted = false
        var body: Body?

        /// Whether all work of the kind waits for a retry.
        func holdsAll(_ kind: Work) -> Bool { sleepers.contains { $0.work.contains(kind) && $0.zoneIDs == nil } }

        func sleeper(_ work: Work) -> Int? { sleepers.firstIndex { !$0.work.isDisjoint(with: work) } }
    }

    private let environment: SyncEngineEnvironment
    /// The directory of the task that made the engine: the work runs there, whichever task schedules it.
    private let directory = ServiceDirectory.scoped
    private let state = Locked(State())

    init(_ environment: SyncEngineEnvironment) { self.environment = environment }

    /// Sets the closure that does the work.
    func start(_ body: @escaping Body) { state.withLock { $0.body = body } }

    /// Schedules work. Work that is scheduled several times before it starts runs once. Work whose last request failed
    /// as a whole waits for the retry.
    func schedule(_ work: Work) { state.withLock { add(work, to: &$0) } }

    /// Schedules work, and all retries, without a delay.
    func scheduleNow(_ work: Work) {
        state.withLock { state in
            let sleepers = state.sleepers
            state.sleepers = []
            for sleeper in sleepers { sleeper.task?.cancel() }
            add(sleepers.reduce(work) { $0.union($1.work) }, to: &state)
        }
    }

    /// Schedules the unfinished work of the running job again, after a delay, because the job is being cancelled.
    func interrupt() { state.withLock { $0.isInterrupted = $0.task != nil } }

    func stop() {
        state.withLock { state in
            state.body = nil
            state.task?.cancel()
            for sleeper in state.sleepers { sleeper.task?.cancel() }
            state.sleepers = []
        }
    }

    // MARK: Jobs

    private func add(_ work: Work, to state: inout State) {
        state.wanted.formUnion(work)
        guard state.task == nil, state.body != nil else { return }
        state.task = environment.start { await self.work() }
    }

    private func work() async {
        while let (job, body) = next() {
            let outcome = await ServiceDirectory.$scoped.withValue(directory) { await body(job) }
            state.withLock { note(outcome, of: job, in: &$0) }
        }
    }

    private func next() -> (Job, Body)? {
        state.withLock { state in
            var job = Job(work: state.wanted)
            state.wanted = []
            for kind in Work.kinds {
                if state.holdsAll(kind) { job.work.remove(kind) }
                job.held[kind.rawValue] = state.sleeper(kind).flatMap { state.sleepers[$0].zoneIDs }
            }
            guard let body = state.body, !job.work.isEmpty else {
                state.task = nil
                return nil
            }
            state.isInterrupted = false
            return (job, body)
        }
    }

    // MARK: Retries

    private func note(_ outcome: Outcome, of job: Job, in state: inout State) {
        // Zones that wait were left out: a success says nothing of them.
        for kind in Work.kinds where outcome.succeeded.contains(kind) && state.sleeper(kind) == nil {
            state.failures[kind.rawValue] = 0
        }
        if outcome.hasSent || outcome.succeeded.contains(.send) { state.fruitless = 0 }
        for retry in outcome.retries { add(retry, to: &state) }
        if state.isInterrupted {
            let left = job.work.subtracting(outcome.succeeded)
            if !left.isEmpty { add(Retry(work: left, zoneIDs: []), to: &state) }
        }
    }

    private func add(_ retry: Retry, to state: inout State) {
        if state.body == nil { return }
        if retry.beginsAtOnce {
            state.fruitless += 1
            if state.fruitless == 1 { return state.wanted.formUnion(retry.work) }
        }
        var work = retry.work
        if let zoneIDs = retry.zoneIDs {
            // What fails while its kind waits goes with the retry that is due.
            for index in state.sleepers.indices where !state.sleepers[index].work.isDisjoint(with: work) {
                state.sleepers[index].zoneIDs?.formUnion(zoneIDs)
                work.subtract(state.sleepers[index].work)
            }
            if work.isEmpty { return }
        }
        while let index = state.sleeper(work) {
            work.formUnion(state.sleepers[index].work)
            state.sleepers.remove(at: index).task?.cancel()
        }
        for kind in Work.kinds where work.contains(kind) { state.failures[kind.rawValue, default: 0] += 1 }
        let failures = Work.kinds.filter(work.contains).map { state.failures[$0.rawValue] ?? 0 }.max() ?? 0
        let delay = RetryDelay.seconds(
            afterFailures: failures, retryAfter: retry.after, random: environment.random())
        let id = state.nextSleeper
        state.nextSleeper += 1
        let task = environment.start { [environment] in
            try? await environment.sleep(delay)
            self.wake(id)
        }
        state.sleepers.append(Sleeper(id: id, work: work, zoneIDs: retry.zoneIDs, task: task))
    }

    private func wake(_ id: Int) {
        state.withLock { state in
            guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else { return }
            add(state.sleepers.remove(at: index).work, to: &state)
        }
    }
}
