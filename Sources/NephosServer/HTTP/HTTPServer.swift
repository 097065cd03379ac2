import CMicroHTTPD
import Dispatch
import Glibc
import NephosService
import NephosThreads
import Synchronization

/// An HTTP/1.1 server on libmicrohttpd. It turns bytes into `HTTPRequest` values, and `HTTPResponse` values into bytes.
///
/// Its epoll threads parse requests and write answers, and they run `handler` for each complete request. A handler that
/// waits suspends its connection until the handler can continue. A suspended connection is not watched, so a client
/// that disconnects meanwhile costs one unused answer and nothing else.
package final class HTTPServer: Sendable {
    package typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse

    package struct Options: Sendable {
        /// The number of threads that parse requests, run short reads and write answers: at least 2. One more than the
        /// number of processors keeps all processors busy while one thread waits for a lock or for the disk.
        package var threads = UInt32(max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) + 1
        /// The maximum number of open connections per server. Further connections are not accepted. The default stays
        /// under the usual limit of 1024 open files.
        package var connectionLimit: UInt32 = 900
        /// The maximum number of open connections per client: an address, or a /64 of IPv6. Trusted proxies and clients on
        /// this machine have no such limit.
        package var connectionsPerClient: Int { max(64, Int(connectionLimit) / 4) }
        /// The idle time-out of a connection in seconds. A connection without traffic for this time is closed.
        package var idleTimeout: UInt32 = 60
        /// The maximum time in seconds for the arrival of a request's line and headers, and then of a short body. It
        /// also applies to the client's reading of an answer.
        package var arrivalTimeout = 60.0
        /// The interval in seconds between two checks for connections that are overdue or have lost their client.
        package var watchInterval = 5.0
        /// The minimum average transfer rate in bytes per second, for a longer body or an answer in memory.
        package var slowestMessage = 8 * 1024
        /// The memory in bytes per connection for a request's line and headers and for the current piece of its body.
        /// All of it is cleared for each request.
        package var connectionMemory = 16 * 1024
        /// The maximum size of a body in bytes that is passed to the handler: the largest limit of all routes.
        package var bodyLimit = Limits.requestBodySize
        /// The maximum number of bytes of a longer body that are read and dropped before the answer, so that the client
        /// gets to read it. A body that announces more is answered at once. One that turns out to be longer is not
        /// answered. Both close the connection.
        package var droppedBodyLimit = 4 * Limits.requestBodySize
        /// Returns whether a request with this target is for a file. Its handler runs before the body is read, and
        /// receives the body as it arrives.
        package var isTransfer: @Sendable (String) -> Bool = { $0.hasPrefix("/\(AssetAddress.module)/") }
        /// Decides about requests whose bodies are long, before they are read; nil to read all.
        package var admission: (@Sendable (HTTPRequest) async -> Admission)?
        /// The minimum transfer rate of the body of a file upload in bytes per second, and the grace period before the
        /// first check. A slower upload is abandoned. Both values also apply to each piece of a file that is sent.
        package var slowestTransfer = Limits.slowestUpload
        package var slowTransferGrace = Duration.milliseconds(Limits.slowUploadGrace)
        /// The maximum time in seconds that `stop()` waits until requests have arrived and their answers are read.
        /// Requests that are not answered by then get the answer `unfinished`.
        package var stopTimeout = 2.0
        /// The time in seconds without a request after which open connections count as idle.
        package var stopQuiet = 0.03
        /// The maximum time in seconds that `stop()` waits until clients have read `unfinished`.
        package var unfinishedTimeout = 1.0
        /// The answer to a request that the stopping server does not finish.
        package var unfinished = HTTPResponse(status: 503)
        /// The maximum memory in bytes for arrived bodies and answers in transit, over all connections. Beyond it, the
        /// server evicts connections of the account that holds the most bytes. For a request of that account itself, it
        /// evicts only connections older than `heldPatience` seconds.
        package var heldLimit = Limits.heldBytes
        package var heldPatience = 10.0
        /// Whether requests have an access token (`AccessToken`).
        package var takesAccessToken = false
        /// The reverse proxies whose `Forwarded`, `X-Forwarded-For` and `X-Forwarded-Proto` count.
        package var proxies = TrustedProxies.none
        /// Returns the account of a request; nil for none. Without an account, the network address of the client
        /// identifies the holder.
        package var account: @Sendable (HTTPRequest) -> String? = { _ in nil }
        /// Returns the answer to a request that exceeds `heldLimit`.
        package var busy: @Sendable (HTTPRequest) -> HTTPResponse = { _ in HTTPResponse(status: 503) }

        package init() {}
    }

    package let port: UInt16
    private let bridge: HTTPBridge
    private let running: Mutex<Running?>

    /// The state that ends when the server stops.
    private struct Running: @unchecked Sendable {
        // `@unchecked`: the thread that removes this state from the server's lock owns it.
        var acceptor: Acceptor
        var daemons: Daemons
        var sockets: [ListeningSocket]
    }

    /// Starts to serve `sockets` and takes ownership of them. `port` becomes the port of the first socket.
    /// - Parameter credentials: the certificate and key of the sockets that are TLS; nil if none is.
    package init(
        _ sockets: [ListeningSocket], credentials: TLSCredentials? = nil, options: Options = Options(),
        log: @escaping @Sendable (String) -> Void = { _ in }, handler: @escaping Handler
    ) throws(ListeningError) {
        let bridge = HTTPBridge(options: options, credentials, log: log, handler: handler)
        self.port = sockets.first?.port ?? 0
        self.bridge = bridge
        var daemons: Daemons?
        do throws(ListeningError) {
            if credentials == nil, sockets.contains(where: \.isTLS) {
                throw .unusable("a socket with TLS needs a certificate and a key")
            }
            let started = try Daemons(for: sockets, bridge)
            daemons = started
            let acceptor = try Acceptor(sockets, daemons: started, bridge.connections, options)
            try acceptor.start()
            running = Mutex(Running(acceptor: acceptor, daemons: started, sockets: sockets))
        } catch {
            daemons?.stop()
            for socket in sockets { socket.close() }
            throw error
        }
    }

    /// Changes the certificate and key of the TLS connections that begin from now on. Open connections keep theirs.
    package func reload(_ credentials: TLSCredentials) { bridge.reload(credentials) }

    /// Stops the server. It stops accepting connections, and finishes the accepted requests and those that follow on
    /// their keep-alive connections. Each such connection closes after its next answer. Then every remaining connection
    /// is closed. Takes at most `stopTimeout` plus `unfinishedTimeout`. Idempotent.
    package func stop() async {
        do {
            try await NativeThread.run("stop") { [self] in stopBlocking() }
        } catch {
            // If no thread can be created, this call blocks the calling thread, because the server has to stop all the
            // same.
            stopBlocking()
        }
    }

    private func stopBlocking() {
        let taken = running.withLock { running in
            defer { running = nil }
            return running
        }
        guard let taken else { return }
        bridge.isStopping.store(true, ordering: .releasing)
        taken.acceptor.stop()
        for socket in taken.sockets { socket.close() }
        bridge.endless.endAll()
        let isDone = waitUntilQuiet(until: .now() + bridge.options.stopTimeout)
        // No handler begins after this store: further requests are answered at once.
        bridge.isClosing.store(true, ordering: .sequentiallyConsistent)
        if !isDone || bridge.openRequests.wait(timeout: .now() + bridge.options.stopQuiet) == .timedOut {
            bridge.streams.cutAll()
            bridge.answerSuspended(bridge.options.unfinished)
            _ = bridge.openRequests.wait(timeout: .now() + bridge.options.unfinishedTimeout)
        }
        // A daemon must not be stopped while one of its connections is suspended. Such a daemon runs until the process
        // ends.
        let hasEnded = bridge.runningHandlers.wait(timeout: .now() + bridge.options.stopQuiet) == .success
        guard hasEnded, !bridge.hasSuspended else { return }
        taken.daemons.stop()
    }

    /// Waits until every request is answered and no further request has arrived for `stopQuiet` seconds. A client that
    /// sends its next request at once finds its connection open. The answer to that request has `Connection: close`.
    /// - Returns: false if `deadline` passes before.
    private func waitUntilQuiet(until deadline: DispatchTime) -> Bool {
        while bridge.openRequests.wait(timeout: deadline) == .success {
            if bridge.connections.isEmpty { return true }
            let begun = bridge.begunRequests.load(ordering: .relaxed)
            usleep(UInt32(bridge.options.stopQuiet * 1_000_000))
            if bridge.begunRequests.load(ordering: .relaxed) == begun { return true }
        }
        return false
    }
}
