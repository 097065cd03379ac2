/// The decisions about one request, from its headers to its answer. The state is a value without a connection:
/// `Exchange` reports events to it and performs its actions.
///
/// A body is buffered up to `bodyLimit` while it fits the memory budget, or passed to a streaming handler. The body of
/// a refused request is dropped before the answer is sent, so that the client gets to read the answer. A client that
/// waits before it sends the body, or announces one longer than `droppedBodyLimit`, is answered ahead of the body. That
/// closes the connection. libmicrohttpd takes no answer while a body arrives, so a body that turns out to be longer
/// closes the connection without one.
struct ExchangeState {
    /// The values that the headers announce.
    struct Head: Equatable {
        /// The size of the body in bytes; nil if it is unknown, `.max` if the announced number overflows.
        var contentLength: Int?
        /// Whether the request has `Expect: 100-continue`: the client sends the body only after the interim answer.
        var expectsContinue = false
        /// Whether the end of the body is ambiguous.
        var isAmbiguous = false
        /// Whether the handler reads the body as it arrives.
        var isStreamed = false
        /// Whether a body of unknown length follows.
        var isChunked = false
        /// Whether the body has a `Content-Encoding`, so that it may become far longer.
        var isEncoded = false

        /// Whether the body is long, or may be.
        var isLong: Bool { contentLength.map { $0 >= HeldBytes.counted || isEncoded && $0 > 0 } ?? isChunked }
    }

    enum Answer: Equatable {
        case handler
        /// The request or its answer does not fit the memory budget.
        case busy
        /// The target or the headers exceed their limits.
        case headTooLarge
        /// The server stops before the request is answered.
        case unfinished
    }

    enum Event: Equatable {
        /// The target or the headers exceed their limits.
        case refused
        case head(Head)
        /// The reply to the action `admit`. The value is the maximum size of the body in bytes.
        case admitted(bodyLimit: Int)
        /// A piece of the body arrived. No bytes means that the body ended or the connection resumed. `capacity` is the
        /// capacity of the buffer in bytes.
        case called(bytes: Int, capacity: Int = 0)
        /// The reply to the action `checkRoom`.
        case room(Bool)
        /// The reply to the action `reserve`.
        case reserved(Bool)
        case answered
        /// The handler waits, and the connection is suspended until the handler can continue.
        case suspended
        /// The handler waits for more of its body.
        case reading
        /// The request to be run, or the answer of the handler, does not fit the memory budget.
        case noRoom
        /// The server is stopping, so no further handler begins.
        case stopping
    }

    enum Action: Equatable {
        /// Returns to the library until its next call.
        case wait
        /// Asks whether the body of the request is to be read.
        case admit
        /// Waits for a body that will be buffered. The value is the announced size in bytes.
        case buffer(Int)
        case append
        /// Discards the piece and the buffered body.
        case discard
        /// Drops the rest of a streamed body. The value is the announced size in bytes, or 0 if it is unknown.
        case drain(Int)
        /// Asks whether a body that counts towards the memory budget may begin.
        case checkRoom
        /// Reserves bytes of the memory budget for an arriving body.
        case reserve(Int)
        /// Runs the handler of a complete request.
        case run
        /// Runs the handler before the body arrives.
        case stream
        /// Continues the handler.
        case proceed
        /// Passes the piece to the streaming handler.
        case feed
        /// Ends the streaming handler's body.
        case endBody
        case answer(Answer)
        case close
    }

    private enum Phase {
        /// The request line has arrived.
        case started
        /// Waits for the reply on whether the body is to be read.
        case admitting
        /// Waits for the reply on whether a counted body may begin.
        case checkingRoom
        /// The body is arriving, and is buffered or dropped.
        case receiving
        /// Waits for the reply on a reservation. The value is the size of the latest piece in bytes.
        case reserving(Int)
        /// The handler runs, although the body has not arrived.
        case aheadOfBody
        /// The handler runs while the body is arriving. The value is the size of the latest piece in bytes; 0 at the
        /// end.
        case streaming(Int)
        /// The streaming handler has answered, and the rest of the body is dropped.
        case draining
        /// The handler of a complete request runs.
        case running
        /// The handler's answer is being queued.
        case answering
        case over
    }

    private(set) var arrivedBytes = 0
    /// Whether the body exceeds `bodyLimit`. The handler reports that.
    private(set) var isBodyTooLarge = false
    private var phase = Phase.started
    private var head = Head()
    private var bufferedBytes = 0
    /// The bytes that are reserved for the body, if the body counts towards the budget.
    private var reservedBytes = HeldBytes.counted / 2
    private var droppedBytes = 0
    /// Whether the body has no room in the memory budget, so that it is dropped.
    private var isBusy = false
    private var bodyLimit: Int
    private let droppedBodyLimit: Int
    /// Whether a body that counts towards the memory budget is admitted before it is read.
    private let admitsBodies: Bool

    init(bodyLimit: Int, droppedBodyLimit: Int, admitsBodies: Bool = false) {
        self.admitsBodies = admitsBodies
        self.bodyLimit = bodyLimit
        self.droppedBodyLimit = droppedBodyLimit
    }

    mutating func handle(_ event: Event) -> Action {
        switch (event, phase) {
        case (.refused, .started): return answer(.headTooLarge)
        case (.head(let head), .started): return begin(head)
        case (.room(let hasRoom), .checkingRoom): return beginCounted(hasRoom)
        case (.called(let bytes, let capacity), .receiving):
            return bytes > 0 ? receive(bytes, capacity) : endBuffered()
        case (.reserved(let isReserved), .reserving(let piece)):
            phase = .receiving
            if isReserved { return append(piece) }
            isBusy = true
            return drop(piece, else: .discard)
        case (.called, .aheadOfBody), (.called, .running), (.called, .admitting): return .proceed
        case (.admitted(let limit), .admitting):
            bodyLimit = min(bodyLimit, limit)
            return beginBuffered()
        case (.called(let bytes, _), .streaming):
            phase = .streaming(bytes)
            return bytes > 0 ? .feed : .endBody
        case (.called(let bytes, _), .draining):
            return bytes > 0 ? drop(bytes, else: .wait) : answer(.handler)
        case (.answered, .aheadOfBody), (.answered, .admitting): return answerAheadOfBody()
        case (.answered, .streaming(let piece)):
            phase = .draining
            return piece > 0 ? drop(piece, else: .drain(0)) : answer(.handler)
        case (.answered, .running): return answer(.handler)
        case (.reading, .aheadOfBody):
            phase = .streaming(0)
            return .wait
        case (.suspended, .aheadOfBody), (.suspended, .streaming), (.suspended, .running), (.suspended, .admitting),
            (.reading, .streaming):
            return .wait
        case (.noRoom, .running), (.noRoom, .answering): return answer(.busy)
        case (.stopping, .running), (.stopping, .aheadOfBody), (.stopping, .admitting): return answer(.unfinished)
        default: return close()
        }
    }

    private mutating func begin(_ head: Head) -> Action {
        self.head = head
        // Bytes after an ambiguous end cannot be parsed.
        if head.isAmbiguous { return run() }
        if head.isStreamed {
            phase = .aheadOfBody
            return .stream
        }
        if admitsBodies, head.isLong {
            phase = .admitting
            return .admit
        }
        return beginBuffered()
    }

    private mutating func beginBuffered() -> Action {
        phase = .receiving
        let length = head.contentLength ?? 0
        if length > bodyLimit {
            isBodyTooLarge = true
            return head.expectsContinue || length > droppedBodyLimit ? run() : .wait
        }
        if length < HeldBytes.counted { return .buffer(length) }
        phase = .checkingRoom
        return .checkRoom
    }

    private mutating func beginCounted(_ hasRoom: Bool) -> Action {
        phase = .receiving
        if hasRoom { return .buffer(head.contentLength ?? 0) }
        isBusy = true
        // Without `Expect: 100-continue` the answer follows the body.
        return head.expectsContinue ? answer(.busy) : .wait
    }

    private mutating func receive(_ bytes: Int, _ capacity: Int) -> Action {
        arrivedBytes += bytes
        if !isBusy, !isBodyTooLarge, bufferedBytes + bytes <= bodyLimit {
            if arrivedBytes <= reservedBytes { return append(bytes) }
            phase = .reserving(bytes)
            // Reserves twice the bytes that have arrived, whatever length the client announced.
            reservedBytes = min(2 * arrivedBytes, max(capacity, arrivedBytes))
            return .reserve(reservedBytes)
        }
        if isBusy { return drop(bytes, else: .discard) }
        isBodyTooLarge = true
        defer { bufferedBytes = 0 }
        return drop(bufferedBytes + bytes, else: .discard)
    }

    private mutating func append(_ bytes: Int) -> Action {
        bufferedBytes += bytes
        return .append
    }

    private mutating func endBuffered() -> Action {
        isBusy ? answer(.busy) : run()
    }

    private mutating func run() -> Action {
        phase = .running
        return .run
    }

    /// Answers before the body has arrived, which closes the connection. Without `Expect: 100-continue`, a short body
    /// is dropped first.
    private mutating func answerAheadOfBody() -> Action {
        if head.expectsContinue { return answer(.handler) }
        phase = .draining
        let length = head.contentLength ?? .max
        return length > droppedBodyLimit ? answer(.handler) : .drain(length)
    }

    /// Counts dropped bytes. Returns `action` if the connection has to read more of the body.
    private mutating func drop(_ count: Int, else action: Action) -> Action {
        droppedBytes += count
        return droppedBytes > droppedBodyLimit ? close() : action
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
