import CGnuTLS
import CMicroHTTPD
import Dispatch
import Synchronization

/// The closure object of libmicrohttpd's callbacks. Each server has one.
///
/// `@unchecked`: `callbacks` is written once, before the threads of the daemons exist, and is only read afterwards.
final class HTTPBridge: @unchecked Sendable {
    let options: HTTPServer.Options
    let handler: HTTPServer.Handler
    let log: @Sendable (String) -> Void
    let isStopping = Atomic(false)
    /// Whether further requests are answered at once with `unfinished`, because the server is stopping.
    let isClosing = Atomic(false)
    /// The number of requests whose headers have arrived so far.
    let begunRequests = Atomic(0)
    /// The requests whose headers have arrived and whose answers are not completely written.
    let openRequests = DispatchGroup()
    /// The requests with a running handler. Their connections are suspended.
    let runningHandlers = DispatchGroup()
    /// The bodies that handlers read while they arrive.
    let streams = BodyStreams()
    let endless = EndlessBodies()
    let connections = ConnectionWatch()
    let held: HeldBytes
    /// The runs whose connections are suspended. A stopping server answers them.
    private let suspended = Mutex<[ObjectIdentifier: RequestRun]>([:])
    private let callbacks: UnsafeMutablePointer<nephos_mhd_callbacks>
    /// The credentials of further TLS connections; nil if there are none.
    private let credentials: Mutex<TLSCredentials?>

    init(
        options: HTTPServer.Options, _ credentials: TLSCredentials?, log: @escaping @Sendable (String) -> Void,
        handler: @escaping HTTPServer.Handler
    ) {
        self.options = options
        self.credentials = Mutex(credentials)
        held = HeldBytes(connections, limit: options.heldLimit, patience: Int64(options.heldPatience * 1000))
        self.log = log
        self.handler = handler
        callbacks = .allocate(capacity: 1)
        callbacks.initialize(to: nephos_mhd_callbacks())
        callbacks.pointee = nephos_mhd_callbacks(
            closure: Unmanaged.passUnretained(self).toOpaque(), target: targetCallback, access: accessCallback,
            completed: completedCallback, connection: connectionCallback, log: logCallback)
    }

    deinit {
        callbacks.deallocate()
    }

    /// Starts a daemon without a listening socket, because an `Acceptor` adds its connections. The daemon does not
    /// retain the bridge: the server retains it, and stops the daemon before it releases the bridge.
    func startDaemon(isTLS: Bool) -> OpaquePointer? {
        let kind = isTLS ? MHD_USE_TLS.rawValue : 0
        let flags =
            kind | MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_USE_ITC.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
            | MHD_USE_ERROR_LOG.rawValue | MHD_USE_NO_LISTEN_SOCKET.rawValue
        return nephos_mhd_start(
            flags, options.connectionLimit, options.idleTimeout, options.connectionMemory, callbacks,
            isTLS ? TLSCredentials.priorities : nil, isTLS ? nephos_no_certificate_callback() : nil)
    }

    /// Changes the credentials of TLS connections that begin from now on.
    func reload(_ credentials: TLSCredentials) { self.credentials.withLock { $0 = credentials } }

    /// Begins to watch a connection. One over TLS is given its credentials before its handshake. The library closes the
    /// session before it closes the connection, so the connection retains them for long enough.
    fileprivate func opened(_ connection: OpaquePointer) -> WatchedConnection {
        let session = nephos_mhd_session(connection).map { OpaquePointer($0) }
        let credentials = session == nil ? nil : credentials.withLock(\.self)
        if let session { credentials?.apply(to: session) }
        let watched = WatchedConnection(
            nephos_mhd_socket(connection), credentials: credentials, proxies: options.proxies)
        watched.allow(options)
        connections.opened(watched, limit: options.connectionsPerClient)
        return watched
    }

    /// Whether the handler of a request may run; if so, the handler counts as running. This method first counts and
    /// then checks `isClosing`. Closing first sets `isClosing` and then reads the count, so no handler is missed.
    func mayBeginHandler() -> Bool {
        runningHandlers.enter()
        if !isClosing.load(ordering: .sequentiallyConsistent) { return true }
        runningHandlers.leave()
        return false
    }

    /// Creates the exchange of a request from its raw target.
    fileprivate func begin(_ target: UnsafePointer<CChar>?, _ connection: OpaquePointer?) -> Exchange {
        let watched = connection.flatMap(nephos_mhd_socket_context).map(WatchedConnection.from)
        watched?.allow(options)
        let refusal = target.flatMap { RequestHeadLimit.refusal(target: $0, options) }
        let problem = target.flatMap(AmbiguousHeaders.problem)
        let text = target.map { String(cString: $0) } ?? ""
        // The query of a refused request can have more parameters than the library has memory for.
        if let target, refusal != nil { nephos_mhd_drop_query(target) }
        return Exchange(target: text, problem: problem, refusal: refusal, watched, options)
    }

    func noteSuspended(_ run: RequestRun) {
        suspended.withLock { $0[ObjectIdentifier(run)] = run }
    }

    func forgetSuspended(_ run: RequestRun) {
        suspended.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(run)) }
    }

    var hasSuspended: Bool { suspended.withLock { !$0.isEmpty } }

    /// Answers every suspended request with `response`. Its handler continues, but the handler's own answer is
    /// discarded.
    func answerSuspended(_ response: HTTPResponse) {
        for run in suspended.withLock({ Array($0.values) }) { run.give(response) }
    }

    static func from(_ closure: UnsafeMutableRawPointer?) -> HTTPBridge? {
        closure.map { Unmanaged<HTTPBridge>.fromOpaque($0).takeUnretainedValue() }
    }
}

// MARK: - The callbacks, in the order in which a request meets them

/// Called when the request line has arrived. Creates the exchange with the raw target, before the library decodes it.
private let targetCallback: nephos_mhd_target = { closure, target, connection in
    HTTPBridge.from(closure).map { Unmanaged.passRetained($0.begin(target, connection)).toOpaque() }
}

/// Called when the headers have arrived, for each piece of the body, at the end of the request, and when its connection
/// resumes. An answer given in the first of these calls would close the connection.
private let accessCallback: MHD_AccessHandlerCallback = { closure, connection, _, method, _, data, size, context in
    guard let bridge = HTTPBridge.from(closure), let connection, let context = context?.pointee, let size else {
        return .NO
    }
    let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    let piece = UnsafeRawBufferPointer(start: data, count: size.pointee)
    size.pointee = 0
    return exchange.proceed(piece, method: method, connection, bridge)
}

/// Called when the exchange is over: the answer is written, or the connection was lost or timed out.
private let completedCallback: MHD_RequestCompletedCallback = { closure, _, context, reason in
    guard let pointer = context?.pointee, let bridge = HTTPBridge.from(closure) else { return }
    context?.pointee = nil
    let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeRetainedValue()
    exchange.end(isWhole: reason == .REQUEST_TERMINATED_COMPLETED_OK, bridge)
}

/// Called when a connection was accepted, or is about to be closed.
private let connectionCallback: MHD_NotifyConnectionCallback = { closure, connection, context, code in
    guard let bridge = HTTPBridge.from(closure), let connection, let context else { return }
    if code == .CONNECTION_NOTIFY_STARTED {
        context.pointee = Unmanaged.passRetained(bridge.opened(connection)).toOpaque()
    } else if let pointer = context.pointee {
        context.pointee = nil
        let watched = Unmanaged<WatchedConnection>.fromOpaque(pointer).takeRetainedValue()
        bridge.held.release(watched)
        bridge.connections.closed(watched)
    }
}

private let logCallback: nephos_mhd_log = { closure, message in
    guard let bridge = HTTPBridge.from(closure), let message else { return }
    let line = String(cString: message)
    if clientFaults.contains(where: line.hasPrefix) { return }
    bridge.log(line.last == "\n" ? String(line.dropLast()) : line)
}

/// The prefixes of the library's messages about clients that disconnected or sent no HTTP. Clients can cause any number
/// of these messages, and the server is not at fault.
private let clientFaults = [
    "Socket has been disconnected", "Connection socket is closed", "Connection was closed by remote",
    "Failed to send", "Failed to parse", "Too large value of", "Error processing request", "Received HTTP/1.1 request",
    "Application reported internal error", "Not enough memory in pool",
    // A Unix socket has no options of TCP.
    "Setting TCP_", "Failed to push the data",
    "Closing connection (failed to create response header)", "Error: received handshake message out of context",
]
