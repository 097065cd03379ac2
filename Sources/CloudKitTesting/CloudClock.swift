public import Foundation
import Synchronization

/// The clock of a test's cloud. The service's times follow it, and so do the pauses of the library and its sync engines.
///
/// It runs like the system's clock until a test advances or pauses it. An app's own `Task.sleep` and `Date()` stay real.
///
///     cloud.clock.advance(by: .seconds(3600))
public final class CloudClock: Clock, Sendable {
    /// A point in time, with microseconds.
    public struct Instant: InstantProtocol {
        /// Microseconds since 1970.
        let microseconds: Int64

        /// Returns the time after a duration.
        public func advanced(by duration: Duration) -> Instant {
            Instant(microseconds: microseconds + duration.microseconds)
        }
        /// Returns the duration until another time.
        public func duration(to other: Instant) -> Duration { .microseconds(other.microseconds - microseconds) }
        public static func < (left: Instant, right: Instant) -> Bool { left.microseconds < right.microseconds }
    }

    private struct State {
        /// What is added to the system's time.
        var offset: Int64 = 0
        /// The time at which the clock stands; nil while it runs.
        var pausedAt: Int64?
        var sleepers: [Int: Sleeper] = [:]
        var nextSleeper = 0

        var now: Int64 { pausedAt ?? CloudClock.systemTime + offset }

        /// Removes the sleepers whose time has come, and returns them in the order of their deadlines.
        mutating func due() -> [Sleeper] {
            let now = now
            let due = sleepers.filter { $0.value.deadline <= now }
            for id in due.keys { sleepers[id] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value)
        }
    }

    private struct Sleeper {
        let deadline: Int64
        let continuation: CheckedContinuation<Void, any Error>
        /// The launch of a simulated app that sleeps.
        let launch: SimulatedLaunch?
        /// Wakes the sleeper while the clock runs.
        var timer: Task<Void, Never>?

        func wake() {
            timer?.cancel()
            launch?.woke()
            continuation.resume()
        }
    }

    private let state = Mutex(State())

    init() {}

    /// Creates a clock that stands at a time until it is advanced.
    init(pausedAt time: Instant) { state.withLock { $0.pausedAt = time.microseconds } }

    /// The earliest time for which a task of a simulated app waits.
    var nextDeadline: Instant? {
        state.withLock { state in
            let waiting = state.sleepers.values.filter { $0.launch.map { !$0.hasEnded } ?? false }
            return waiting.map(\.deadline).min().map(Instant.init(microseconds:))
        }
    }

    private static var systemTime: Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }

    /// The cloud's present time.
    public var now: Instant { Instant(microseconds: state.withLock { $0.now }) }
    /// The unit of the clock's times.
    public var minimumResolution: Duration { .microseconds(1) }

    /// The time as a date.
    public var date: Date { Date(timeIntervalSince1970: Double(now.microseconds) / 1_000_000) }

    /// How many tasks wait for a time of this clock.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Advances the clock. Whoever waits for a time up to the new one continues.
    public func advance(by duration: Duration) {
        let step = max(0, duration.microseconds)
        wake { state in
            if let time = state.pausedAt { state.pausedAt = time + step } else { state.offset += step }
        }
        // The others wait for a time that is nearer now.
        for id in state.withLock({ Array($0.sleepers.keys) }) { startTimer(id) }
    }

    /// Has the clock stand still until `resume()`; only `advance(by:)` moves it.
    public func pause() { state.withLock { $0.pausedAt = $0.pausedAt ?? $0.now } }

    /// Has the clock run on from where it stands.
    public func resume() {
        let waiting = state.withLock { state -> [Int] in
            guard let time = state.pausedAt else { return [] }
            state.pausedAt = nil
            state.offset = time - Self.systemTime
            return Array(state.sleepers.keys)
        }
        for id in waiting { startTimer(id) }
    }

    /// Returns at a time of this clock, whether it runs there or is advanced.
    /// - Throws: `CancellationError` if the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let id = state.withLock { state in
            defer { state.nextSleeper += 1 }
            return state.nextSleeper
        }
        let launch = SimulatedLaunch.current
        let slept = await Result.caught {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let sleeper = Sleeper(deadline: deadline.microseconds, continuation: continuation, launch: launch)
                    launch?.sleeps()
                    wake { $0.sleepers[id] = sleeper }
                    // A cancellation before the sleeper was there found none.
                    if Task.isCancelled { cancel(id) } else { startTimer(id) }
                }
            } onCancel: {
                cancel(id)
            }
        }
        // Nothing of an app moves after its end, also what its end cancelled.
        await launch?.freezeIfEnded()
        try slept.get()
    }

    /// Wakes everyone who waits, with a `CancellationError`: the cloud has ended.
    func end() {
        for id in state.withLock({ Array($0.sleepers.keys) }) { cancel(id) }
    }

    private func cancel(_ id: Int) {
        let sleeper = state.withLock { $0.sleepers.removeValue(forKey: id) }
        sleeper?.timer?.cancel()
        sleeper?.launch?.woke()
        sleeper?.continuation.resume(throwing: CancellationError())
    }

    private func wake(after change: (inout State) -> Void) {
        let due = state.withLock { state in
            change(&state)
            return state.due()
        }
        for sleeper in due { sleeper.wake() }
    }

    private func startTimer(_ id: Int) {
        state.withLock { state in
            guard state.pausedAt == nil, let sleeper = state.sleepers[id] else { return }
            let wait = sleeper.deadline - state.now
            sleeper.timer?.cancel()
            state.sleepers[id]?.timer = Task.detached { [weak self] in
                guard (try? await Task.sleep(for: .microseconds(max(0, wait)))) != nil else { return }
                self?.wake { _ in }
                // The system's clock was set back meanwhile.
                self?.startTimer(id)
            }
        }
    }
}

extension Duration {
    /// The duration in microseconds, rounded down, within the range of Int64.
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? (seconds < 0 ? .min / 4 : .max / 4) : whole + attoseconds / 1_000_000_000_000
    }
}

extension Result where Failure == any Error {
    /// The result of a body.
    fileprivate static func caught(_ body: () async throws -> Success) async -> Self {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}
