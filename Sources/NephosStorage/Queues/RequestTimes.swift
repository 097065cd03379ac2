import NephosThreads
import Synchronization

/// The durations of a request's stages: they follow each other and add up to the request's.
///
/// The server binds one to the request's task; a store's queues report their work for that task to it.
package final class RequestTimes: Sendable {
    package enum Stage: Int, CaseIterable, Sendable {
        /// Validation, planning, and the remainder.
        case service
        /// The request waits for the writer or for a read connection.
        case queue
        /// Statements run.
        case storage
        /// The transaction commits: an fsync.
        case commit
        /// The commit waits for the checkpoint of the write-ahead log.
        case checkpoint
        /// The answer is encoded.
        case encoding
        /// A poll waits for an event, a transfer for its peer.
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

    /// The network address of the client; empty if unknown.
    package let client: [UInt8]
    private let state: Mutex<State>
    /// Units of work of its reads (`ReadMeter`), restarted ones included.
    private let work = Atomic<Int>(0)

    /// Begins with `service`.
    /// - Parameters:
    ///   - client: its network address; empty if unknown.
    ///   - time: on the clock of `MonotonicTime`, in nanoseconds.
    package init(client: [UInt8] = [], at time: Int64 = MonotonicTime.now.nanoseconds) {
        self.client = client
        state = Mutex(State(since: time))
    }

    /// Adds a read's work.
    package func noteRead(work units: Int) { work.add(units, ordering: .relaxed) }

    /// Units of work of its reads so far.
    package var readWork: Int { work.load(ordering: .relaxed) }

    /// Ends the current stage and begins another.
    package func enter(_ stage: Stage, at time: Int64 = MonotonicTime.now.nanoseconds) {
        state.withLock { $0.enter(stage, at: time) }
    }

    /// Moves part of a finished stage's duration to another stage.
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
