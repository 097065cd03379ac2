import NephosService
import Synchronization

/// The open streams of the requests, and the task that sends to them four times a second while there are any.
final class RequestStreams: Sendable {
    /// The maximum number of streams. Further readers poll.
    static let limit = 200
    /// The maximum number of streams of one account.
    static let accountLimit = 20
    /// The time in milliseconds between two batches.
    static let interval: Int64 = 250

    private struct State {
        var streams: [ObjectIdentifier: RequestStream] = [:]
        var isRunning = false
    }

    private let recent: RecentRequests
    private let environment: ServiceEnvironment
    private let state = Mutex(State())

    init(_ recent: RecentRequests, _ environment: ServiceEnvironment) {
        self.recent = recent
        self.environment = environment
    }

    /// Adds a stream; false if there are as many as there may be.
    func add(_ stream: RequestStream) -> Bool {
        let (isAdded, starts) = state.withLock { state in
            guard state.streams.count < Self.limit else { return (false, false) }
            if let reader = stream.reader,
                state.streams.values.count(where: { $0.reader == reader }) >= Self.accountLimit
            {
                return (false, false)
            }
            state.streams[ObjectIdentifier(stream)] = stream
            defer { state.isRunning = true }
            return (true, !state.isRunning)
        }
        if starts { Task { await run() } }
        return isAdded
    }

    func remove(_ stream: RequestStream) {
        state.withLock { _ = $0.streams.removeValue(forKey: ObjectIdentifier(stream)) }
    }

    private func run() async {
        while true {
            guard (try? await environment.sleepUntil(environment.now() + Self.interval)) != nil else { return }
            sendBatches()
            Task { await checkRights() }
            let isOver = state.withLock { state in
                if state.streams.isEmpty { state.isRunning = false }
                return !state.isRunning
            }
            if isOver { return }
        }
    }

    /// Sends to each reader that waits, and ends the streams of those that have gone, for others. Readers at the same
    /// position, with the same filter, share a batch.
    func sendBatches() {
        let now = environment.now()
        let streams = state.withLock { Array($0.streams.values) }
        if streams.isEmpty { return }
        recent.watch(at: now)
        var batches: [RequestFilter: [Int: RequestBatch]] = [:]
        for stream in streams where !stream.endIfGone() {
            if let position = stream.position(at: now) {
                let batch =
                    batches[stream.filter]?[position] ?? RequestBatch(after: position, of: recent, stream.filter)
                batches[stream.filter, default: [:]][position] = batch
                stream.send(batch, at: now)
            }
        }
    }

    /// Ends the streams of readers that lost the right to read.
    func checkRights() async {
        for stream in state.withLock({ Array($0.streams.values) }) { await stream.checkRight(at: environment.now()) }
    }

    var count: Int { state.withLock(\.streams.count) }

    /// The number of streams whose reader has taken all that was sent.
    var waitingCount: Int {
        state.withLock { state in state.streams.values.count { $0.isWaiting } }
    }
}
