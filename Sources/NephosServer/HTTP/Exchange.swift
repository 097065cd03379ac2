import CMicroHTTPD
import Dispatch
import NephosThreads
import NephosWire
import Synchronization

/// One request and its answer, while libmicrohttpd processes it. It reports events to `ExchangeState` and performs the
/// resulting actions. Only the connection's thread uses it.
final class Exchange {
    private var state: ExchangeState
    private var request: HTTPRequest
    private var run: RequestRun?
    /// The body that a streaming handler reads; nil for any other request.
    private var stream: BodyStream?
    /// The decision about the body that is under way; nil for none.
    private var admission: PendingAdmission?
    /// The answer of the handler, until it is sent; nil before.
    private var response: HTTPResponse?
    private var whenSent: (@Sendable (Bool) -> Void)?
    private let watched: WatchedConnection?
    /// The address that identifies the client without an account.
    private var client: PeerAddress
    /// The account to which the bytes of the body and of the answer are charged; nil while none is known.
    private var account: String?
    /// The time at which the body began to arrive, in milliseconds.
    private var begun: Int64 = 0
    /// Whether the server counts the exchange as an open request.
    private var isOpen = false
    /// The refusal of the target or of the headers; nil if they are accepted.
    private var refusal: Refusal?

    /// - Parameters:
    ///   - problem: the defect of the target; nil if there is none.
    ///   - refusal: the refusal of the target; nil to accept it.
    init(
        target: String, problem: String?, refusal: Refusal?, _ watched: WatchedConnection?,
        _ options: HTTPServer.Options
    ) {
        state = ExchangeState(
            bodyLimit: options.bodyLimit, droppedBodyLimit: options.droppedBodyLimit,
            admitsBodies: options.admission != nil)
        client = watched?.client ?? PeerAddress()
        var request = HTTPRequest(method: .other, target: target)
        request.problem = problem
        request.client = client.bytes
        request.localUser = watched?.peer.localUser
        request.isSecure = watched?.isTLS == true
        self.request = request
        self.watched = watched
        self.refusal = refusal
    }

    /// Handles a call of the library: first for the headers, then for each piece of the body, for the end of the body
    /// (an empty piece), or for the resumption of the connection. An answer that is ready is queued at once. Otherwise
    /// the connection is suspended until the handler can continue.
    func proceed(
        _ piece: UnsafeRawBufferPointer, method: UnsafePointer<CChar>?, _ connection: OpaquePointer,
        _ bridge: HTTPBridge
    ) -> MHD_Result {
        var event =
            isOpen
            ? .called(bytes: piece.count, capacity: request.body.capacity) : readHead(method, connection, bridge)
        while true {
            switch state.handle(event) {
            case .wait: return .YES
            case .buffer(let length):
                request.body.reserveCapacity(length)
                return .YES
            case .append:
                request.body.append(contentsOf: piece)
                allowBody(bridge)
                return .YES
            case .discard:
                discardBody(bridge)
                allowBody(bridge)
                return .YES
            case .drain(let length):
                // The rest of the body has a deadline too. Without one, a slow client would occupy the connection.
                watched?.allow(bridge.options, bytes: length)
                return .YES
            case .admit: event = admit(connection, bridge)
            case .checkRoom: event = .room(bridge.held.hasRoom(for: holder(bridge)))
            case .reserve(let bytes):
                event = .reserved(
                    watched.map { bridge.held.hold(bytes, .arrivingBody, $0, for: holder(bridge)) } ?? true)
            case .run: event = runHandler(connection, bridge)
            case .stream: event = streamHandler(connection, bridge)
            case .proceed: event = proceed(bridge)
            case .feed:
                let options = bridge.options
                run?.endReading()
                stream?.receive(piece, slowest: options.slowestTransfer, grace: options.slowTransferGrace)
                event = proceed(bridge)
            case .endBody:
                run?.endReading()
                stream?.end()
                event = proceed(bridge)
            case .answer(let answer):
                let response = response(answer, bridge)
                if holds(response, bridge) || answer != .handler { return queue(response, connection, bridge) }
                response.whenSent?(false)
                event = .noRoom
            case .close: return .NO
            }
        }
    }

    /// Ends the exchange. `isWhole` is true if the answer was written completely.
    func end(isWhole: Bool, _ bridge: HTTPBridge) {
        watched?.allowNext(bridge.options)
        if let watched { bridge.held.release(watched) }
        whenSent?(isWhole)
        run?.leave()
        if let stream {
            stream.fail(.isCut)
            bridge.streams.remove(stream)
        }
        if isOpen { bridge.openRequests.leave() }
    }

    // MARK: The headers

    private func readHead(
        _ method: UnsafePointer<CChar>?, _ connection: OpaquePointer, _ bridge: HTTPBridge
    ) -> ExchangeState.Event {
        isOpen = true
        bridge.openRequests.enter()
        bridge.begunRequests.add(1, ordering: .relaxed)
        refusal = refusal ?? RequestHeadLimit.refusal(connection, bridge.options)
        if refusal != nil { return .refused }
        request.method = HTTPMethod(named: method.map { String(cString: $0) } ?? "")
        begun = MonotonicTime.now.milliseconds
        watched?.allow(bridge.options, since: begun)
        if let watched, watched.isProxy, let peer = watched.peer.address {
            readForwarded(by: peer, connection, bridge.options.proxies)
        }
        return .head(request.readHeaders(connection, bridge.options))
    }

    /// Reads who the client of a proxy is.
    private func readForwarded(by peer: IPAddress, _ connection: OpaquePointer, _ proxies: TrustedProxies) {
        let named = proxies.client(of: peer, isSecure: request.isSecure, ForwardedHeaders(connection))
        client = PeerAddress(named.address)
        request.client = client.bytes
        request.isSecure = named.isSecure
    }

    // MARK: The body

    /// Sets the deadline of a body that is buffered or dropped, in proportion to the bytes that have arrived.
    private func allowBody(_ bridge: HTTPBridge) {
        watched?.allow(bridge.options, bytes: state.arrivedBytes, since: begun)
    }

    private func discardBody(_ bridge: HTTPBridge) {
        request.body = []
        if let watched { bridge.held.release(watched) }
    }

    /// Returns the holder to which the bytes of the body and of the answer are charged.
    private func holder(_ bridge: HTTPBridge) -> Holder {
        account = account ?? bridge.options.account(request)
        if let account { return .account(account) }
        if let user = request.localUser { return .localUser(user) }
        return .address(client)
    }

    // MARK: The handler

    /// Starts the handler of a complete request on this thread.
    private func runHandler(_ connection: OpaquePointer, _ bridge: HTTPBridge) -> ExchangeState.Event {
        watched?.suspendDeadline()
        request.bodyIsTooLarge = state.isBodyTooLarge
        let isHeld = holdsRequest(bridge)
        let request = self.request
        self.request.body = []
        self.request.holdsBody = nil
        return isHeld ? start(request, connection, bridge) : .noRoom
    }

    /// Runs the handler before the body arrives, so that the handler can refuse the request before the client sends the
    /// body.
    private func streamHandler(_ connection: OpaquePointer, _ bridge: HTTPBridge) -> ExchangeState.Event {
        // `BodyStream` checks the transfer rate of the body instead.
        watched?.suspendDeadline()
        let stream = bridge.streams.begin()
        self.stream = stream
        var request = self.request
        request.stream = stream
        return start(request, connection, bridge)
    }

    /// Asks whether the body is to be read.
    private func admit(_ connection: OpaquePointer, _ bridge: HTTPBridge) -> ExchangeState.Event {
        guard let decide = bridge.options.admission else { return .admitted(bodyLimit: .max) }
        watched?.suspendDeadline()
        let pending = PendingAdmission()
        admission = pending
        return start(request, connection, bridge) {
            switch await decide($0) {
            case .refused(let response): return response
            case .body(let limit):
                pending.admit(bodyLimit: limit)
                return HTTPResponse(status: 100)
            }
        }
    }

    /// Ends the run of a decision, and has the body arrive.
    private func admitted(bodyLimit: Int, _ bridge: HTTPBridge) -> ExchangeState.Event {
        run?.leave()
        (run, admission) = (nil, nil)
        request.bodyLimit = bodyLimit
        begun = MonotonicTime.now.milliseconds
        watched?.allow(bridge.options, since: begun)
        return .admitted(bodyLimit: bodyLimit)
    }

    private func start(
        _ request: HTTPRequest, _ connection: OpaquePointer, _ bridge: HTTPBridge, _ handler: HTTPServer.Handler? = nil
    ) -> ExchangeState.Event {
        guard bridge.mayBeginHandler() else { return .stopping }
        let run = RequestRun(connection, bridge)
        self.run = run
        run.start {
            run.give(await (handler ?? bridge.handler)(request))
            bridge.runningHandlers.leave()
        }
        return proceed(bridge)
    }

    /// Runs the handler's pending work: after its start, after a piece of its body, or after the resumption of the
    /// connection. While a handler runs ahead of the body, calls of the library bring no data.
    private func proceed(_ bridge: HTTPBridge) -> ExchangeState.Event {
        switch run?.proceed(reading: stream) {
        case .answered(let response):
            if let limit = admission?.bodyLimit { return admitted(bodyLimit: limit, bridge) }
            self.response = response
            return .answered
        case .suspended, nil: return .suspended
        case .reading: return .reading
        }
    }

    /// Whether the body fits the memory budget while the handler runs. The handler may enlarge the body.
    private func holdsRequest(_ bridge: HTTPBridge) -> Bool {
        guard let watched, !request.body.isEmpty else { return true }
        if request.contentEncoding != nil {
            request.holdsBody = { [held = bridge.held, size = request.body.count, holder = holder(bridge)] in
                held.hold(size + $0, .request, watched, for: holder)
            }
        }
        return bridge.held.hold(request.body.count, .request, watched, for: holder(bridge))
    }

    // MARK: The answer

    private func response(_ answer: ExchangeState.Answer, _ bridge: HTTPBridge) -> HTTPResponse {
        switch answer {
        case .handler: response.take() ?? bridge.options.unfinished
        case .busy: bridge.options.busy(request)
        case .headTooLarge: RequestHeadLimit.response(refusal)
        case .unfinished: bridge.options.unfinished
        }
    }

    /// Whether the answer fits the memory budget while it is sent.
    private func holds(_ response: HTTPResponse, _ bridge: HTTPBridge) -> Bool {
        guard let watched else { return true }
        let memory =
            response.stream.map(ResponseSender.memory) ?? response.parts.reduce(0) { $0 + $1.buffer.count }
        return bridge.held.hold(
            memory, .answer, watched, for: response.account.map(Holder.account) ?? holder(bridge),
            isForced: response.isOutcome)
    }

    private func queue(_ response: HTTPResponse, _ connection: OpaquePointer, _ bridge: HTTPBridge) -> MHD_Result {
        // For a file, this size has the headers only, because each piece has its own deadline.
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
            // `withCString` does not copy, as passing the string would.
            let isAdded = header.name.withCString { name in
                header.value.withCString { MHD_add_response_header(native, name, $0) }
            }
            guard isAdded == .YES else { return .NO }
        }
        if bridge.isStopping.load(ordering: .acquiring) { MHD_add_response_header(native, "Connection", "close") }
        return MHD_queue_response(connection, UInt32(response.status), native)
    }
}
