import CMicroHTTPD
import Dispatch
import NephosThreads
import NephosWire
import Synchronization

/// One request and its answer, while libmicrohttpd processes it. Only its connection's thread touches it.
final class Exchange {
    enum Phase {
        /// The request line is known.
        case started
        /// The headers are known; the body is arriving.
        case receiving
        /// The handler runs while the body is arriving.
        case streaming(RequestRun, BodyStream)
        /// The handler runs, or has left its answer in the run.
        case running(RequestRun)
    }

    private(set) var phase = Phase.started
    private var request: HTTPRequest
    private var droppedBytes = 0
    private var whenSent: (@Sendable (Bool) -> Void)?
    /// The answer of a handler that did not read the whole body, sent once the body has arrived.
    private var early: HTTPResponse?
    /// Whether `early` was sent past the library.
    private var isAnsweredEarly = false
    /// When the first byte of the body was dropped.
    private var dropsSince: Int64 = 0
    /// Whether the library's next calls bring the body and its end.
    private var hasBegunBody = false
    private let watched: WatchedConnection?
    /// When the body began to arrive.
    private var begun: Int64 = 0
    private var arrivedBytes = 0
    /// Bytes reserved for the body, if it is counted.
    private var heldBytes = HeldBytes.counted / 2
    /// Whether the body did not fit `HeldBytes`.
    private var isBusy = false
    /// Whether the target was refused, past the library.
    private let isRefused: Bool

    /// - Parameter problem: the target's defect; nil for none.
    init(target: String, problem: String?, isRefused: Bool = false, _ watched: WatchedConnection?) {
        request = HTTPRequest(method: .other, target: target)
        request.problem = problem
        request.client = watched?.peer.bytes ?? []
        self.watched = watched
        self.isRefused = isRefused
    }

    /// Whether the exchange counts as an open request.
    var isOpen: Bool {
        if case .started = phase { false } else { true }
    }

    /// Reads the headers, which have arrived.
    func begin(_ connection: OpaquePointer, method: String, _ bridge: HTTPBridge) -> MHD_Result {
        bridge.openRequests.enter()
        bridge.begunRequests.add(1, ordering: .relaxed)
        phase = .receiving
        if isRefused { return .NO }
        if let refusal = RequestHeadLimit.refusal(connection, bridge.options) {
            watched?.refuse(refusal)
            return .NO
        }
        request.method = HTTPMethod(named: method)
        begun = MonotonicTime.now.milliseconds
        watched?.allow(bridge.options, since: begun)
        request.host = header("Host", connection)
        request.readAbsoluteTarget()
        request.problem = request.problem ?? AmbiguousHeaders(connection).problem
        request.origin = header("Origin", connection)
        request.fetchSite = header("Sec-Fetch-Site", connection)
        request.fetchMode = header("Sec-Fetch-Mode", connection)
        request.takesAdditions = header(AnswerAdditions.header, connection) != nil
        request.contentEncoding = header("Content-Encoding", connection)
        // The end of the body is uncertain, so nothing after it can be parsed.
        if request.problem != nil { return run(connection, bridge) }
        if bridge.options.isTransfer(request.target) {
            readTransferHeaders(connection)
            if request.method == .post { return stream(connection, bridge) }
        }
        let length = header("Content-Length", connection).flatMap(Self.length) ?? 0
        if length > bridge.options.bodyLimit {
            request.bodyIsTooLarge = true
            // Too much to drop: the answer goes out at once, and the connection closes.
            if length > bridge.options.droppedBodyLimit { return run(connection, bridge) }
        } else if length < HeldBytes.counted || bridge.held.hasRoom(for: holder(bridge)) {
            request.body.reserveCapacity(length)
        } else {
            isBusy = true
            // Without Expect: 100-continue, answer after the body.
            if header("Expect", connection) != nil { return run(connection, bridge) }
        }
        return .YES
    }

    /// Buffers or drops an arrived piece of the body.
    func receive(_ piece: UnsafeRawBufferPointer, _ bridge: HTTPBridge) -> MHD_Result {
        let options = bridge.options
        arrivedBytes += piece.count
        watched?.allow(options, bytes: arrivedBytes, since: begun)
        if !request.bodyIsTooLarge, !isBusy, request.body.count + piece.count <= options.bodyLimit {
            if arrivedBytes <= heldBytes || holdsMore(bridge) {
                request.body.append(contentsOf: piece)
                return .YES
            }
            isBusy = true
            request.body = []
        }
        if isBusy { return drop(piece.count, bridge) { RawAnswer.bytes(options.busy(request)) } }
        request.bodyIsTooLarge = true
        if let watched { bridge.held.release(watched) }
        defer { request.body = [] }
        return drop(request.body.count + piece.count, bridge) { RawAnswer.bodyTooLarge(options, request) }
    }

    /// Runs the handler of a complete request, starting on this thread. An answer that needs no waiting is queued at
    /// once; otherwise the connection is suspended until the handler can continue.
    func run(_ connection: OpaquePointer, _ bridge: HTTPBridge) -> MHD_Result {
        if isAnsweredEarly { return .NO }
        watched?.suspendDeadline()
        let run = RequestRun(connection, bridge)
        if !holdsRequest(bridge) { isBusy = true }
        let request = self.request
        self.request.body = []
        self.request.holdsBody = nil
        phase = .running(run)
        if isBusy { return queue(bridge.options.busy(request), connection, bridge) }
        guard bridge.mayBeginHandler() else { return queue(bridge.options.unfinished, connection, bridge) }
        run.start {
            run.give(await bridge.handler(request))
            bridge.runningHandlers.leave()
        }
        return proceed(run, connection, bridge)
    }

    /// Runs the handler's pending work after its start or the connection's resumption, and queues its answer.
    func proceed(_ run: RequestRun, _ connection: OpaquePointer, _ bridge: HTTPBridge) -> MHD_Result {
        guard let response = run.proceed() else { return .YES }
        return queue(response, connection, bridge)
    }

    /// The parsed length; `.max` on overflow, which exceeds every limit.
    private static func length(_ text: String) -> Int? {
        if let length = Int(text) { return length }
        return text.isEmpty || !text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) ? nil : .max
    }

    private func readTransferHeaders(_ connection: OpaquePointer) {
        request.transfer.contentLength = header("Content-Length", connection).flatMap(Self.length).map(Int64.init)
        request.transfer.range = header("Range", connection)
        request.transfer.ifRange = header("If-Range", connection)
        request.transfer.ifNoneMatch = header("If-None-Match", connection)
    }

    // MARK: Bodies that are taken as they arrive

    /// Runs the handler ahead of the body, so that it can refuse before the client sends the body.
    private func stream(_ connection: OpaquePointer, _ bridge: HTTPBridge) -> MHD_Result {
        // `BodyStream` checks the body's rate.
        watched?.suspendDeadline()
        let run = RequestRun(connection, bridge)
        let stream = bridge.streams.begin()
        request.stream = stream
        let request = self.request
        self.request.stream = nil
        phase = .streaming(run, stream)
        guard bridge.mayBeginHandler() else { return queue(bridge.options.unfinished, connection, bridge) }
        run.start {
            run.give(await bridge.handler(request))
            bridge.runningHandlers.leave()
        }
        return proceedBeforeBody(run, stream, connection, bridge)
    }

    /// The library's calls bring no data until the connection resumes; the body comes only then. An answer before the
    /// body closes the connection; without Expect: 100-continue a short body is dropped first.
    private func proceedBeforeBody(
        _ run: RequestRun, _ stream: BodyStream, _ connection: OpaquePointer, _ bridge: HTTPBridge
    ) -> MHD_Result {
        switch run.proceed(reading: stream) {
        case .answered(let response):
            // With Expect: 100-continue the client has not sent the body.
            if header("Expect", connection) != nil { return queue(response, connection, bridge) }
            early = response
            hasBegunBody = true
            let length = request.transfer.contentLength ?? .max
            if length > bridge.options.droppedBodyLimit {
                return watched == nil
                    ? queue(response, connection, bridge) : answerEarly(RawAnswer.bytes(response), bridge)
            }
            watched?.allow(bridge.options, bytes: Int(length))
            return .YES
        case .suspended: return .YES
        case .reading:
            hasBegunBody = true
            return .YES
        }
    }

    /// Handles a piece of the body, its end (an empty piece), or the connection's resumption.
    func proceed(
        _ run: RequestRun, _ stream: BodyStream, _ piece: UnsafeRawBufferPointer, _ connection: OpaquePointer,
        _ bridge: HTTPBridge
    ) -> MHD_Result {
        guard hasBegunBody else { return proceedBeforeBody(run, stream, connection, bridge) }
        run.endReading()
        if early == nil {
            if piece.isEmpty {
                stream.end()
            } else {
                let options = bridge.options
                stream.receive(piece, slowest: options.slowestTransfer, grace: options.slowTransferGrace)
            }
            if case .answered(let response) = run.proceed(reading: stream) {
                early = response
                // The remainder has a deadline: a slow client would keep the connection.
                watched?.allow(bridge.options)
            }
        }
        guard let response = early else { return .YES }
        if piece.isEmpty { return isAnsweredEarly ? .NO : queue(response, connection, bridge) }
        return drop(piece.count, bridge) { RawAnswer.bytes(response) }
    }

    /// Drops bytes of a refused body. After `droppedBodyLimit` bytes or `dropPatience` the refusal is sent past the
    /// library; after twice as many bytes the connection is closed.
    private func drop(_ count: Int, _ bridge: HTTPBridge, _ answer: () -> [UInt8]) -> MHD_Result {
        droppedBytes += count
        let limit = bridge.options.droppedBodyLimit
        let now = MonotonicTime.now.milliseconds
        if dropsSince == 0 { dropsSince = now }
        let isDue = droppedBytes > limit || now - dropsSince > Self.dropPatience
        if isDue && !isAnsweredEarly { return answerEarly(answer(), bridge) }
        return droppedBytes <= 2 * limit ? .YES : .NO
    }

    /// Sends an answer past the library while the body is still arriving.
    private func answerEarly(_ answer: [UInt8], _ bridge: HTTPBridge) -> MHD_Result {
        guard let watched else { return .NO }
        isAnsweredEarly = true
        watched.answerEarly(answer)
        watched.allow(bridge.options)
        return .YES
    }

    /// Milliseconds: less than the arrival time-out.
    private static let dropPatience: Int64 = 30_000

    /// Whether the growing body fits: reserves twice the bytes that have arrived, not the announced length.
    private func holdsMore(_ bridge: HTTPBridge) -> Bool {
        heldBytes = min(2 * arrivedBytes, max(request.body.capacity, arrivedBytes))
        return watched.map { bridge.held.hold(heldBytes, .arrivingBody, $0, for: holder(bridge)) } ?? true
    }

    /// The holder of the body's and the answer's bytes.
    private func holder(_ bridge: HTTPBridge) -> Holder {
        if let account = bridge.options.account(request) { return .account(account) }
        return .address(watched?.peer ?? PeerAddress())
    }

    /// Whether the body fits while the handler runs, which may enlarge it.
    private func holdsRequest(_ bridge: HTTPBridge) -> Bool {
        guard let watched, !request.body.isEmpty else { return true }
        if request.contentEncoding != nil {
            request.holdsBody = { [held = bridge.held, size = request.body.count, holder = holder(bridge)] in
                held.hold(size + $0, .request, watched, for: holder)
            }
        }
        return bridge.held.hold(request.body.count, .request, watched, for: holder(bridge))
    }

    private func header(_ name: StaticString, _ connection: OpaquePointer) -> String? {
        var value: UnsafePointer<CChar>?
        var size = 0
        let found = name.withUTF8Buffer { name in
            name.withMemoryRebound(to: CChar.self) {
                MHD_lookup_connection_value_n(connection, .HEADER_KIND, $0.baseAddress, $0.count, &value, &size)
            }
        }
        guard found == .YES, let value else { return nil }
        return String(decoding: UnsafeRawBufferPointer(start: value, count: size), as: UTF8.self)
    }

    /// Ends the exchange; `isWhole` if the answer was written completely.
    func end(isWhole: Bool, _ bridge: HTTPBridge) {
        watched?.allowNext(bridge.options)
        if let watched { bridge.held.release(watched) }
        whenSent?(isWhole)
        switch phase {
        case .started, .receiving: break
        case .running(let run): run.leave()
        case .streaming(let run, let stream):
            run.leave()
            stream.fail(.isCut)
        }
    }

    private func queue(_ given: HTTPResponse, _ connection: OpaquePointer, _ bridge: HTTPBridge) -> MHD_Result {
        var response = given
        let memory =
            response.stream.map(ResponseSender.memory) ?? response.parts.reduce(0) { $0 + $1.buffer.count }
        let hasRoom = watched.map {
            bridge.held.hold(
                memory, .answer, $0, for: response.account.map(Holder.account) ?? holder(bridge),
                isForced: response.isOutcome)
        }
        if hasRoom == false {
            response.whenSent?(false)
            response = bridge.options.busy(request)
        }
        // For a file, the headers only: its pieces have their own deadlines.
        let size = response.parts.reduce(0) { $0 + $1.buffer.count }
        whenSent = response.whenSent
        watched?.allow(bridge.options, bytes: size, isAnswer: true)
        let made =
            if let stream = response.stream {
                ResponseSender(stream, connection, watched, bridge).makeResponse()
            } else {
                ResponseBody(response.parts).makeResponse()
            }
        guard let native = made else { return .NO }
        defer { MHD_destroy_response(native) }
        for header in response.headers {
            guard MHD_add_response_header(native, header.name, header.value) == .YES else { return .NO }
        }
        if bridge.isStopping.load(ordering: .acquiring) { MHD_add_response_header(native, "Connection", "close") }
        return MHD_queue_response(connection, UInt32(response.status), native)
    }
}
