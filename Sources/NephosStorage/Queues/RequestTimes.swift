import NephosThreads
import Synchronization

/// Where a request's time goes: one stage follows the other, and their durations add up to the request's.
///
/// The server binds one to the request's task; the queues of a store tell it what they do for that task.
package final class RequestTimes: Sendable {
    package enum Stage: Int, CaseIterable, Sendable {
        /// Validation, planning, and whatever is none of the others.
        case service
        /// Waits for the writer, or for a connection to read over.
        case queue
        /// Statements run.
        case storage
        /// The transaction commits: a synchronisation of the disk.
        case commit
        /// The commit waits for the write-ahead log to be moved into the database.
        case checkpoint
        /// The answer is encoded.
        case encoding
        /// A poll waits for something to happen, a transfer for its peer.
        case waiting
    }

    @TaskLocal package static var current: RequestTimes?

    private struct State {
        var stage = Stage.service
        var since: Int64
        var nanoseconds = [Int64](repeating: 0, count: Stage.allCases.count)

        mutating func enter(_ next: Stage, at time: Int64) {
            nanoseconds[stage.rawValue] += time - since
            (stage, since) = (next, time)
        }
    }

    private let state: Mutex<State>
    /// Units of work of its reads (`ReadMeter`), of those that were begun again too.
    private let work = Atomic<Int>(0)

    /// Begins with `service`.
    /// - Parameter time: on the clock of `MonotonicTime`, in nanoseconds.
    package init(at time: Int64 = MonotonicTime.now.nanoseconds) {
        state = Mutex(State(since: time))
    }

    /// A read did so much.
    package func noteRead(work units: Int) { work.add(units, ordering: .relaxed) }

    /// Units of its reads so far.
    package var readWork: Int { work.load(ordering: .relaxed) }

    /// Another stage begins.
    package func enter(_ stage: Stage, at time: Int64 = MonotonicTime.now.nanoseconds) {
        state.withLock { $0.enter(stage, at: time) }
    }

    /// A part of a stage that is over was another.
    package func move(_ nanoseconds: Int64, from stage: Stage, to other: Stage) {
        state.withLock { state in
            let moved = min(nanoseconds, state.nanoseconds[stage.rawValue])
            state.nanoseconds[stage.rawValue] -= moved
            state.nanoseconds[other.rawValue] += moved
        }
    }

    /// Nanoseconds of each stage until `time`, in the stages' order.
    package func nanoseconds(at time: Int64 = MonotonicTime.now.nanoseconds) -> [Int64] {
        state.withLock { state in
            state.enter(state.stage, at: time)
            return state.nanoseconds
        }
    }
}
