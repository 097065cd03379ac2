import CMicroHTTPD
import Dispatch
import Glibc
import NephosService
import NephosThreads
import Synchronization

/// An HTTP/1.1 server on libmicrohttpd: bytes in, `HTTPRequest` out; `HTTPResponse` in, bytes out.
///
/// Its epoll threads parse and write, and run `handler` for each complete request. A handler that waits suspends its
/// connection until it can continue. A suspended connection is not watched, so a client that disconnects meanwhile
/// costs one answer and nothing else.
package final class HTTPServer: Sendable {
    package typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse

    package struct Options: Sendable {
        /// Threads that parse requests, run short reads and write answers. At least 2. One more than the number of
        /// processors keeps those busy while one thread waits for a lock or for the disk.
        package var threads = UInt32(max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) + 1
        /// The connection limit; further ones are not accepted. The default stays under the usual limit of 1024 open
        /// files.
        package var connectionLimit: UInt32 = 900
        /// Idle time-out in seconds: a connection without traffic is closed.
        package var idleTimeout: UInt32 = 60
        /// Seconds in which a request's line and headers, then a short body, must arrive, or an answer must be read.
        package var arrivalTimeout = 60.0
        /// Seconds between two checks for connections that are overdue or have lost their client.
        package var watchInterval = 5.0
        /// The minimum average rate of a longer body or answer in memory, in bytes a second.
        package var slowestMessage = 8 * 1024
        /// Bytes per connection for a request's line and headers and for the current piece of its body. All of it is
        /// cleared for each request.
        package var connectionMemory = 16 * 1024
        /// The longest body passed to the handler, in bytes: the largest limit of any route.
        package var bodyLimit = Limits.requestBodySize
        /// Bytes of a longer body that are read and dropped before the connection is closed, so that the client gets to
        /// read the answer.
        package var droppedBodyLimit = 2 * Limits.requestBodySize
        /// Whether a request, by its target, is for a file: its handler is called before the body is read, and receives
        /// the body as it arrives.
        package var isTransfer: @Sendable (String) -> Bool = { $0.hasPrefix("/\(AssetAddress.module)/") }
        /// The minimum rate of such a body in bytes a second, below which it is abandoned, and the grace period before
        /// the first check. The same applies to each piece of a file that is sent.
        package var slowestTransfer = Limits.slowestUpload
        package var slowTransferGrace = Duration.milliseconds(Limits.slowUploadGrace)
        /// Seconds that `stop()` waits for requests to arrive and be answered, and for answers to be read. Requests not
        /// answered by then are answered with `unfinished`.
        package var stopTimeout = 2.0
        /// Seconds without a request after which open connections count as idle.
        package var stopQuiet = 0.03
        /// Seconds that `stop()` waits for `unfinished` to be read.
        package var unfinishedTimeout = 1.0
        /// The answer to an unfinished request.
        package var unfinished = HTTPResponse(status: 503)
        /// Bytes of arrived bodies and of answers in transit, of all connections together. Beyond it connections of the
        /// account that holds the most are evicted; for a request of that account itself, those older than
        /// `heldPatience` seconds.
        package var heldLimit = Limits.heldBytes
        package var heldPatience = 10.0
        /// The request's account; nil for none, when the client's address stands for it.
        package var account: @Sendable (HTTPRequest) -> String? = { _ in nil }
        /// The answer to a request that exceeds `heldLimit`.
        package var busy: @Sendable (HTTPRequest) -> HTTPResponse = { _ in HTTPResponse(status: 503) }

        package init() {}
    }

    package let port: UInt16
    private let bridge: HTTPBridge
    private let running: Mutex<Running?>

    /// The state that is stopped with the server.
    private struct Running: @unchecked Sendable {
        // `@unchecked`: the thread that removes it from the server's lock owns it.
        var acceptor: Acceptor
        var daemons: [OpaquePointer]
        var sockets: [ListeningSocket]
    }

    /// Starts to serve `sockets` and takes ownership of them; `port` is the first one's.
    package init(
        _ sockets: [ListeningSocket], options: Options = Options(),
        log: @escaping @Sendable (String) -> Void = { _ in }, handler: @escaping Handler
    ) throws(ListeningError) {
        let bridge = HTTPBridge(options: options, log: log, handler: handler)
        self.port = sockets.first?.port ?? 0
        self.bridge = bridge
        var daemons: [OpaquePointer] = []
        do throws(ListeningError) {
            for _ in 0..<max(2, options.threads) {
                guard let daemon = bridge.startDaemon() else {
                    throw .system(call: "MHD_start_daemon", message: String(cString: strerror(errno)))
                }
                daemons.append(daemon)
            }
            let acceptor = try Acceptor(sockets, daemons: daemons, bridge.connections, options)
            try acceptor.start()
            running = Mutex(Running(acceptor: acceptor, daemons: daemons, sockets: sockets))
        } catch {
            for daemon in daemons { MHD_stop_daemon(daemon) }
            for socket in sockets { socket.close() }
            throw error
        }
    }

    /// Stops accepting, finishes the accepted requests and those that follow on their keep-alive connections, each of
    /// which closes after its next answer; then closes every connection. Takes at most `stopTimeout` plus
    /// `unfinishedTimeout`. Idempotent.
    package func stop() async {
        do {
            try await NativeThread.run("stop") { [self] in stopBlocking() }
        } catch {
            // If no thread can be created, blocks this one: the server has to stop all the same.
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
        let isDone = waitUntilQuiet(until: .now() + bridge.options.stopTimeout)
        // From here on no handler begins: further requests are answered at once.
        bridge.isClosing.store(true, ordering: .sequentiallyConsistent)
        if !isDone || bridge.openRequests.wait(timeout: .now() + bridge.options.stopQuiet) == .timedOut {
            bridge.streams.cutAll()
            bridge.answerSuspended(bridge.options.unfinished)
            _ = bridge.openRequests.wait(timeout: .now() + bridge.options.unfinishedTimeout)
        }
        // A daemon must not be stopped while one of its connections is suspended. Such a daemon ends with the process.
        let hasEnded = bridge.runningHandlers.wait(timeout: .now() + bridge.options.stopQuiet) == .success
        guard hasEnded, !bridge.hasSuspended else { return }
        for daemon in taken.daemons { MHD_stop_daemon(daemon) }
    }

    /// Returns when every request is answered and no other arrived for `stopQuiet`: a client that sends its next
    /// request at once finds its connection open, gets one more answer, and that one has `Connection: close`.
    /// - Returns: false on time-out.
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
