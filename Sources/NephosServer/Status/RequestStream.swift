import Synchronization

/// One reader's stream of the requests: a position in the ring, and no queue. A reader that is slower than the requests
/// misses some, and its next event says how many.
final class RequestStream: EndlessBody {
    /// The time in milliseconds after which a stream without requests sends a comment, which finds clients that have gone.
    static let heartbeat: Int64 = 15_000
    /// The time in milliseconds after a full event in which a stream sends no other: no reader follows more,
    /// and a hundred streams would take its time.
    static let rest: Int64 = 1000
    /// The time in milliseconds between two checks whether the reader still has the right to read.
    static let recheck: Int64 = 5000

    typealias Completion = @Sendable (Result<[UInt8], any Error>) -> Void

    private struct State {
        var position: Int
        /// The completion of the read that waits; nil while the client takes what was sent.
        var waiting: Completion?
        var isEnded = false
        /// The time from which on the next event may be sent.
        var due: Int64 = 0
        /// The times of the last event or comment, and of the last check of the rights.
        var sent: Int64
        var checked: Int64
        /// Returns whether the reader has gone; nil if that cannot be known.
        var hasGone: (@Sendable () -> Bool)?
    }

    let filter: RequestFilter
    /// The account that reads; nil where accounts are names.
    let reader: String?
    private let state: Mutex<State>
    private let isAllowed: @Sendable () async -> Bool

    /// - Parameters:
    ///   - position: the position after the last request that the reader has.
    ///   - isAllowed: returns whether the reader still has the right to read.
    init(
        after position: Int, _ filter: RequestFilter, reader: String? = nil, at now: Int64,
        isAllowed: @escaping @Sendable () async -> Bool
    ) {
        self.filter = filter
        self.reader = reader
        self.isAllowed = isAllowed
        // The first comment is due at once: it tells the reader that the stream has begun.
        state = Mutex(State(position: position, sent: now - Self.heartbeat, checked: now))
    }

    /// Whether the reader has taken all that was sent.
    var isWaiting: Bool { state.withLock { $0.waiting != nil } }

    /// The position of a reader that waits, if an event may be sent to it; nil otherwise.
    func position(at now: Int64) -> Int? {
        state.withLock { $0.waiting == nil || now < $0.due ? nil : $0.position }
    }

    func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int? { nil }

    func read(_ count: Int, at offset: Int64, _ completion: @escaping Completion) {
        let isEnded = state.withLock { state in
            if !state.isEnded { state.waiting = completion }
            return state.isEnded
        }
        if isEnded { completion(.success([])) }
    }

    /// Sends a batch to a reader that waits at the position before it, or a comment if one is due.
    func send(_ batch: RequestBatch, at now: Int64) {
        let (completion, event) = state.withLock { state -> (Completion?, [UInt8]) in
            guard let waiting = state.waiting else { return (nil, []) }
            state.position = batch.next
            guard let event = batch.event ?? (now - state.sent >= Self.heartbeat ? Array(":\n\n".utf8) : nil) else {
                return (nil, [])
            }
            state.sent = now
            state.due = batch.isFull ? now + Self.rest : now
            state.waiting = nil
            return (waiting, event)
        }
        completion?(.success(event))
    }

    func end() -> Bool {
        let completion = state.withLock { state in
            state.isEnded = true
            defer { state.waiting = nil }
            return state.waiting
        }
        completion?(.success([]))
        return completion != nil
    }

    func watch(_ hasGone: @escaping @Sendable () -> Bool) { state.withLock { $0.hasGone = hasGone } }

    /// Ends the stream of a reader that has gone.
    /// - Returns: whether it has.
    func endIfGone() -> Bool {
        guard state.withLock({ $0.hasGone })?() == true else { return false }
        _ = end()
        return true
    }

    /// Ends the stream of a reader without the right to read, if a check is due.
    func checkRight(at now: Int64) async {
        let isDue = state.withLock { state in
            guard now - state.checked >= Self.recheck else { return false }
            state.checked = now
            return true
        }
        if isDue, await !isAllowed() { _ = end() }
    }
}
