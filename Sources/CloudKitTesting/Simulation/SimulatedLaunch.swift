import CloudKit
import CloudKitLocal
import NephosService
import Synchronization

/// An app on a simulated device, from a launch to its end: its tasks, and its requests that wait at the door.
///
/// The app moves until each of its tasks waits at the door or for the clock. After its end nothing of it moves: what
/// waits goes on waiting until the simulation is over, so that it changes nothing on the device's disk.
final class SimulatedLaunch: DeviceDoor, SyncEngineObserver, Sendable {
    /// The launch in whose tasks the current one is.
    @TaskLocal static var current: SimulatedLaunch?

    private typealias Turn = CheckedContinuation<Bool, Never>

    private struct State {
        /// The tasks that the simulation or a sync engine started and that have not ended.
        var running = 0
        /// The requests that the service has not answered.
        var unanswered = 0
        /// How many of the tasks wait for the clock.
        var sleeping = 0
        /// How many fetches and sends of sync engines wait for those before them.
        var queued = 0
        /// The requests at the door.
        var waiting: [(id: Int, passes: Int, text: String, turn: Turn)] = []
        /// How many requests have passed.
        var passes = 0
        /// The tasks of the app after its end.
        var frozen: [Turn] = []
        var nextID = 0
        var hasEnded = false
        /// Whether the simulation is over, and everything that waits is let go.
        var isOver = false
        /// Counts what happened, so that the scheduler knows whether something did.
        var changes = 0
        var answers: [String] = []
        /// How many events are handed over before the app ends; nil if it does not end at an event.
        var eventsToEnd: Int?
        var isAtEvent = false
        var generator: SplitMix
        /// The scheduler, while it waits for something to happen.
        var scheduler: CheckedContinuation<Void, Never>?
        /// Until when it waits, in real time.
        var deadline = ContinuousClock.now

        /// Notes that something happened. Returns the scheduler, if it waits for that.
        mutating func changed() -> CheckedContinuation<Void, Never>? {
            changes += 1
            defer { scheduler = nil }
            return scheduler
        }
    }

    private let state: Mutex<State>
    private let realTimeLimit: Duration
    /// The real time in which a task that asks for nothing has got on, even where many tests run. After that it waits for
    /// another task of the app, whose request is at the door.
    private let computingTime: Duration
    private let executors: SimulationExecutors
    var executor: any TaskExecutor { executors.app }
    var libraryExecutor: any SimulatedExecutor { executors.library }

    init(
        seed: UInt64, realTimeLimit: Duration, computingTime: Duration = .seconds(4), executors: SimulationExecutors
    ) {
        self.computingTime = computingTime
        state = Mutex(State(generator: SplitMix(state: seed)))
        self.executors = executors
        self.realTimeLimit = realTimeLimit
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }
    /// How much happened so far.
    var changes: Int { state.withLock { $0.changes } }
    var waiting: [String] { state.withLock { $0.waiting.map(\.text) } }
    var isIdle: Bool { state.withLock { $0.running == 0 } }
    var isSleeping: Bool { state.withLock { $0.sleeping > 0 } }

    func makeRandom() -> Double { state.withLock { .random(in: 0...1, using: &$0.generator) } }

    // MARK: Tasks

    /// Starts a task of the app.
    func start(_ body: @escaping @Sendable () async -> Void) {
        taskBegan()
        Task(executorPreference: executor) { [self] in
            await Self.$current.withValue(self, operation: body)
            taskEnded()
        }
    }

    func taskBegan() { change { $0.running += 1 } }
    func taskEnded() { change { $0.running -= 1 } }
    func callWaits() { change { $0.queued += 1 } }
    func callGoesOn() { change { $0.queued -= 1 } }
    func sleeps() { change { $0.sleeping += 1 } }
    func woke() { change { $0.sleeping -= 1 } }

    private func change(_ body: (inout State) -> Void) {
        let scheduler = state.withLock { state in
            body(&state)
            return state.changed()
        }
        scheduler?.resume()
    }

    // MARK: The door

    func admit(_ request: String) async throws(CancellationError) {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        let isAdmitted = await withTaskCancellationHandler {
            await withCheckedContinuation { turn in
                wait(turn, id, request)
                // A cancellation before the request waited found none.
                if Task.isCancelled { leave(id) }
            }
        } onCancel: {
            leave(id)
        }
        if !isAdmitted { throw CancellationError() }
    }

    private func wait(_ turn: Turn, _ id: Int, _ request: String) {
        var isOver = false
        change { state in
            isOver = state.isOver
            if isOver { return }
            if state.hasEnded {
                state.frozen.append(turn)
            } else {
                // Requests that are sent at the same time arrive in any order.
                let passes = state.passes
                let place = state.waiting.firstIndex { $0.passes == passes && request < $0.text }
                state.waiting.insert((id, passes, request, turn), at: place ?? state.waiting.count)
            }
        }
        if isOver { turn.resume(returning: false) }
    }

    private func leave(_ id: Int) {
        var turn: Turn?
        change { state in
            guard !state.hasEnded, let index = state.waiting.firstIndex(where: { $0.id == id }) else { return }
            turn = state.waiting.remove(at: index).turn
        }
        turn?.resume(returning: false)
    }

    /// Lets the request go on that waits longest. Does nothing if none waits.
    func passFirst() {
        var first: Turn?
        change { state in
            if state.waiting.isEmpty || state.hasEnded { return }
            state.unanswered += 1
            state.passes += 1
            first = state.waiting.removeFirst().turn
        }
        first?.resume(returning: true)
    }

    func answered(_ request: String, _ outcome: String?) {
        change { state in
            state.unanswered -= 1
            state.answers.append(outcome.map { "\(request): \($0)" } ?? request)
        }
    }

    /// Returns the outcomes since the last call.
    func takeAnswers() -> [String] {
        state.withLock { state in
            defer { state.answers = [] }
            return state.answers
        }
    }

    // MARK: Events

    /// Has the app end when its sync engine is about to hand over an event, from 1.
    func endAtEvent(_ number: Int?) { change { $0.eventsToEnd = number } }

    /// Whether the app stands at the event at which it ends.
    var isAtEvent: Bool { state.withLock { $0.isAtEvent } }

    func mayHandle(_ event: CKSyncEngine.Event) async -> Bool {
        var isLast = false
        change { state in
            isLast = state.hasEnded || state.isAtEvent || state.eventsToEnd == 1
            state.isAtEvent = isLast && !state.hasEnded
            state.eventsToEnd = state.eventsToEnd.map { $0 - 1 }
        }
        if isLast { await freeze() }
        return !isLast
    }

    // MARK: The end

    /// Ends the app: nothing of it moves any more.
    func end() { change { $0.hasEnded = true } }

    func freezeIfEnded() async {
        if hasEnded { await freeze() }
    }

    private func freeze() async {
        _ = await withCheckedContinuation { turn in
            let isOver = state.withLock { state in
                if !state.isOver { state.frozen.append(turn) }
                return state.isOver
            }
            if isOver { turn.resume(returning: false) }
        }
    }

    /// Lets everything go, after the simulation.
    func release() {
        let turns = state.withLock { state in
            state.hasEnded = true
            state.isOver = true
            defer { (state.waiting, state.frozen) = ([], []) }
            return state.waiting.map(\.turn) + state.frozen
        }
        for turn in turns { turn.resume(returning: false) }
    }

    // MARK: Rest

    /// How an app came to rest.
    enum Rest {
        /// Its tasks have ended, or wait at the door or for the clock.
        case quiet
        /// Its tasks wait for something else, and a request waits at the door.
        case blocked
        /// Its tasks wait for something that is neither the service nor the clock.
        case stuck
    }

    /// Returns once no task of the app moves.
    func rest() async -> Rest {
        while true {
            let (changes, running, waiting, isAtEvent, isAsking) = state.withLock { state in
                (
                    state.changes, state.running,
                    state.waiting.count + state.sleeping + state.queued,
                    state.isAtEvent, state.unanswered > 0
                )
            }
            if isAtEvent {
                // An edit returns meanwhile that caused the event.
                await executors.idle(for: computingTime)
                for _ in 0..<Self.grace where !hasChanged(since: changes) { await Task.yield() }
                if hasChanged(since: changes) { continue }
                return .quiet
            }
            // A task may have several requests at the door, such as the one for the name of its user record.
            if running <= waiting, !isAsking {
                // Requests that an app sends at the same time wait together.
                await executors.idle(for: computingTime)
                for _ in 0..<Self.grace where !hasChanged(since: changes) { await Task.yield() }
                if !hasChanged(since: changes) { return .quiet }
            } else if !(await waitForChange(
                since: changes, waiting > 0 && !isAsking ? computingTime : realTimeLimit))
            {
                return waiting > 0 ? .blocked : .stuck
            }
        }
    }

    /// How often the scheduler looks for what tasks do that are not on the executor, such as those of an app's own.
    private static let grace = 4

    private func hasChanged(since changes: Int) -> Bool { state.withLock { $0.changes != changes } }

    /// Returns whether something happened before the time was over.
    private func waitForChange(since changes: Int, _ patience: Duration) async -> Bool {
        let deadline = ContinuousClock.now + patience
        await withCheckedContinuation { scheduler in
            let isThere = state.withLock { state in
                if state.changes != changes { return true }
                (state.scheduler, state.deadline) = (scheduler, deadline)
                return false
            }
            if isThere { scheduler.resume() }
        }
        return hasChanged(since: changes)
    }

    /// Wakes the scheduler if it has waited long enough.
    func wakeIfLate() {
        let scheduler = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.deadline > .now { return nil }
            defer { state.scheduler = nil }
            return state.scheduler
        }
        scheduler?.resume()
    }
}
