/// The decisions about one request, from its headers to its answer. A value without a connection: `Exchange` reports
/// events and performs the actions.
///
/// A body is buffered up to `bodyLimit` while it fits the budget, or passed to a streaming handler. The body of a refused
/// request is dropped before the answer, so that the client gets to read it; past `droppedBodyLimit` or `dropPatience`
/// the answer is sent early, past the library, and past twice the limit the connection is closed.
struct ExchangeState {
    /// What the headers announce.
    struct Head: Equatable {
        /// Bytes of the body; nil if unknown, `.max` if the number overflows.
        var contentLength: Int?
        /// `Expect: 100-continue`: the client sends the body after the interim answer.
        var expectsContinue = false
        /// The end of the body is uncertain.
        var isAmbiguous = false
        /// The handler reads the body as it arrives.
        var isStreamed = false
    }

    enum Answer: Equatable {
        case handler
        /// The request or its answer does not fit the budget.
        case busy
        case bodyTooLarge
        /// The server is stopping.
        case unfinished
    }

    enum Event: Equatable {
        /// The target or the headers exceed their limits; the refusal was sent past the library.
        case refused
        case head(Head)
        /// A piece of the body arrived; without bytes, the body ended or the connection resumed. `capacity` is the
        /// buffer's.
        case called(bytes: Int, capacity: Int = 0)
        /// The reply to `checkRoom`.
        case room(Bool)
        /// The reply to `reserve`.
        case reserved(Bool)
        /// The handler has answered.
        case answered
        /// The handler waits, with its connection suspended until it can continue.
        case suspended
        /// The handler waits for more of its body.
        case reading
        /// The request to run or the handler's answer does not fit the budget.
        case noRoom
        /// The server is stopping, and no handler begins.
        case stopping
    }

    enum Action: Equatable {
        /// Returns to the library until its next call.
        case wait
        /// Waits for a body to buffer of so many bytes, as announced.
        case buffer(Int)
        case append
        /// Discards the piece and the buffered body.
        case discard
        /// Drops the remainder of a streamed body, of so many bytes if announced.
        case drain(Int)
        /// Asks whether a counted body may begin.
        case checkRoom
        /// Reserves budget for an arriving body.
        case reserve(Int)
        /// Runs the handler of a complete request.
        case run
        /// Runs the handler ahead of the body.
        case stream
        /// Continues the handler.
        case proceed
        /// Passes the piece to the streaming handler.
        case feed
        /// Ends the streaming handler's body.
        case endBody
        case answer(Answer)
        /// Sends the answer past the library while the body is still arriving.
        case answerEarly(Answer)
        case close
    }

    private enum Phase {
        /// The request line is known.
        case started
        /// Whether a counted body may begin is being asked.
        case checkingRoom
        /// The body is arriving, to be buffered or dropped.
        case receiving
        /// Budget for a piece of so many bytes is being reserved.
        case reserving(Int)
        /// The handler runs ahead of the body.
        case aheadOfBody
        /// The handler runs while the body is arriving; its latest piece has so many bytes, none at the end.
        case streaming(Int)
        /// The streaming handler has answered; the remainder of the body is dropped.
        case draining
        /// The handler of a complete request runs.
        case running
        /// The handler's answer is being queued.
        case answering
        case over
    }

    /// Milliseconds: less than the arrival time-out.
    static let dropPatience: Int64 = 30_000

    private(set) var arrivedBytes = 0
    private var phase = Phase.started
    private var head = Head()
    private var bufferedBytes = 0
    /// Bytes reserved for the body, if it is counted.
    private var reservedBytes = HeldBytes.counted / 2
    private var droppedBytes = 0
    /// When the first byte of the body was dropped.
    private var dropsSince: Int64?
    /// The answer of a request whose body is dropped, unless its handler gives it.
    private var refusal: Answer?
    private var isAnsweredEarly = false
    private let bodyLimit: Int
    private let droppedBodyLimit: Int

    init(bodyLimit: Int, droppedBodyLimit: Int) {
        self.bodyLimit = bodyLimit
        self.droppedBodyLimit = droppedBodyLimit
    }

    /// Whether the body exceeds `bodyLimit`, which the handler reports.
    var isBodyTooLarge: Bool { refusal == .bodyTooLarge }

    /// - Parameter now: milliseconds of the monotonic clock.
    mutating func handle(_ event: Event, at now: @autoclosure () -> Int64) -> Action {
        switch (event, phase) {
        case (.head(let head), .started): return begin(head)
        case (.room(let hasRoom), .checkingRoom): return beginCounted(hasRoom)
        case (.called(let bytes, let capacity), .receiving):
            return bytes > 0 ? receive(bytes, capacity, now) : endBuffered()
        case (.reserved(let isReserved), .reserving(let piece)):
            phase = .receiving
            if isReserved { return append(piece) }
            refusal = .busy
            return drop(piece, answering: .busy, now, else: .discard)
        case (.called, .aheadOfBody), (.called, .running): return .proceed
        case (.called(let bytes, _), .streaming):
            phase = .streaming(bytes)
            return bytes > 0 ? .feed : .endBody
        case (.called(let bytes, _), .draining):
            if bytes > 0 { return drop(bytes, answering: .handler, now, else: .wait) }
            return isAnsweredEarly ? close() : answer(.handler)
        case (.answered, .aheadOfBody): return answerAheadOfBody()
        case (.answered, .streaming(let piece)):
            phase = .draining
            return piece > 0 ? drop(piece, answering: .handler, now, else: .drain(0)) : answer(.handler)
        case (.answered, .running): return answer(.handler)
        case (.reading, .aheadOfBody):
            phase = .streaming(0)
            return .wait
        case (.suspended, .aheadOfBody), (.suspended, .streaming), (.suspended, .running), (.reading, .streaming):
            return .wait
        case (.noRoom, .running), (.noRoom, .answering): return answer(.busy)
        case (.stopping, .running), (.stopping, .aheadOfBody): return answer(.unfinished)
        default: return close()
        }
    }

    private mutating func begin(_ head: Head) -> Action {
        self.head = head
        // Nothing after an uncertain end can be parsed.
        if head.isAmbiguous { return run() }
        if head.isStreamed {
            phase = .aheadOfBody
            return .stream
        }
        phase = .receiving
        let length = head.contentLength ?? 0
        if length > bodyLimit {
            refusal = .bodyTooLarge
            // Too much to drop: the answer goes out at once, and the connection closes.
            return length > droppedBodyLimit ? run() : .wait
        }
        if length < HeldBytes.counted { return .buffer(length) }
        phase = .checkingRoom
        return .checkRoom
    }

    private mutating func beginCounted(_ hasRoom: Bool) -> Action {
        phase = .receiving
        if hasRoom { return .buffer(head.contentLength ?? 0) }
        refusal = .busy
        // Without Expect: 100-continue, answer after the body.
        return head.expectsContinue ? answer(.busy) : .wait
    }

    private mutating func receive(_ bytes: Int, _ capacity: Int, _ now: () -> Int64) -> Action {
        arrivedBytes += bytes
        if refusal == nil, bufferedBytes + bytes <= bodyLimit {
            if arrivedBytes <= reservedBytes { return append(bytes) }
            phase = .reserving(bytes)
            // Twice the bytes that have arrived, not the announced length.
            reservedBytes = min(2 * arrivedBytes, max(capacity, arrivedBytes))
            return .reserve(reservedBytes)
        }
        if refusal == .busy { return drop(bytes, answering: .busy, now, else: .discard) }
        refusal = .bodyTooLarge
        defer { bufferedBytes = 0 }
        return drop(bufferedBytes + bytes, answering: .bodyTooLarge, now, else: .discard)
    }

    private mutating func append(_ bytes: Int) -> Action {
        bufferedBytes += bytes
        return .append
    }

    private mutating func endBuffered() -> Action {
        if isAnsweredEarly { return close() }
        return refusal == .busy ? answer(.busy) : run()
    }

    private mutating func run() -> Action {
        phase = .running
        return .run
    }

    /// An answer before the body closes the connection; without Expect: 100-continue a short body is dropped first.
    private mutating func answerAheadOfBody() -> Action {
        if head.expectsContinue { return answer(.handler) }
        phase = .draining
        let length = head.contentLength ?? .max
        return length > droppedBodyLimit ? answerEarly(.handler) : .drain(length)
    }

    /// Counts dropped bytes; `action` if the body is read on.
    private mutating func drop(
        _ count: Int, answering answer: Answer, _ now: () -> Int64, else action: Action
    ) -> Action {
        droppedBytes += count
        let now = now()
        let since = dropsSince ?? now
        dropsSince = since
        let isDue = droppedBytes > droppedBodyLimit || now - since > Self.dropPatience
        if isDue && !isAnsweredEarly { return answerEarly(answer) }
        return droppedBytes <= 2 * droppedBodyLimit ? action : close()
    }

    private mutating func answerEarly(_ answer: Answer) -> Action {
        isAnsweredEarly = true
        return .answerEarly(answer)
    }

    private mutating func answer(_ answer: Answer) -> Action {
        phase = answer == .handler ? .answering : .over
        return .answer(answer)
    }

    private mutating func close() -> Action {
        phase = .over
        return .close
    }
}
