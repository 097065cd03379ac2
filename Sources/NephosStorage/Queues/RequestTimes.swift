import NephosThreads
import Synchronization

/// The durations of a request's stages. The stages follow each other, so their durations add up to the duration of the
/// request.
///
/// The server binds a value of this type to the request's task. The queues of a store add their work for that task to
/// it.
package final class RequestTimes: Sendable {
    package enum Stage: Int, CaseIterable, Sendable {
        /// The server validates and plans the request, or does work of no other stage.
        case service
        /// The request waits for the writer or for a read connection.
        case queue
        /// The request's statements run.
        case storage
        /// The transaction commits, which includes an fsync.
        case commit
        /// The commit waits for the checkpoint of the write-ahead log.
        case checkpoint
        /// The server encodes the answer.
        case encoding
        /// The request waits for an event (a poll) or for its client (a transfer).
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

    /// The network address of the client; empty if the address is unknown.
    package let client: [UInt8]
    /// The ID that the answer and the log have; nil if the request has none.
    package let requestID: String?
    private let state: Mutex<State>
    /// The work of the request's reads in units (`ReadMeter`), including reads that were restarted.
    private let work = Atomic<Int>(0)

    /// Starts the measurement with the stage `service`.
    /// - Parameters:
    ///   - client: the network address of the client; empty if the address is unknown.
    ///   - requestID: the ID that the answer and the log have; nil for none.
    ///   - time: the current time of `MonotonicTime` in nanoseconds.
    package init(
        client: [UInt8] = [], requestID: String? = nil, at time: Int64 = MonotonicTime.now.nanoseconds
    ) {
        self.client = client
        self.requestID = requestID
        state = Mutex(State(since: time))
    }

    /// Adds the work of a read, in units.
    package func noteRead(work units: Int) { work.add(units, ordering: .relaxed) }

    /// The work of the request's reads so far, in units.
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

    /// The nanoseconds spent in each stage until `time`, in the order of the stages.
    package func nanoseconds(at time: Int64 = MonotonicTime.now.nanoseconds) -> [Int64] {
        state.withLock { state in
            state.enter(state.stage, at: time)
            return state.nanoseconds
        }
    }
}
