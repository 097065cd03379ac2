import CMicroHTTPD
import Dispatch
import Glibc
import NephosService
import NephosThreads
import Synchronization

/// An HTTP/1.1 server on libmicrohttpd: bytes in, `HTTPRequest` out; `HTTPResponse` in, bytes out.
///
/// Its epoll threads parse and write, and run `handler` for each request that has arrived whole. Where it waits for
/// something its connection is suspended, until it can go on. While a connection is suspended nothing watches it, so a client that goes
/// away meanwhile costs one answer and nothing else.
package final class HTTPServer: Sendable {
    package typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse

    package struct Options: Sendable {
        /// Threads that parse requests, run short reads and write answers. At least 2. One more than there are processors
        /// keeps those busy while one thread waits for a lock or for the disk.
        package var threads = UInt32(max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) + 1
        /// Connections beyond it are not accepted. The default stays under the usual limit of 1024 open files.
        package var connectionLimit: UInt32 = 900
        /// Seconds without a byte after which a connection is closed.
        package var idleTimeout: UInt32 = 60
        /// Seconds in which a request's line and headers, and then a short body, must have arrived, or an answer been read.
        package var arrivalTimeout = 60.0
        /// Seconds between two looks at the open connections: for those that are late, and those whose client is gone.
        package var watchInterval = 5.0
        /// Bytes a second that a longer body or answer in memory has to reach on the average.
        package var slowestMessage = 8 * 1024
        /// Bytes for a request's line and headers and for the piece of its body that is being read, per connection. All of
        /// it is cleared for each request.
        package var connectionMemory = 16 * 1024
        /// The longest body that is handed to the handler, in bytes: that of the route that takes the longest.
        package var bodyLimit = Limits.requestBodySize
        /// How much of a longer body is read and dropped, so that the client gets to read the answer, before the
        /// connection is closed.
        package var droppedBodyLimit = 2 * Limits.requestBodySize
        /// Whether a request, by its target, is for a file: then a body is not read before the handler is called, and is
        /// handed to it as it arrives.
        package var isTransfer: @Sendable (String) -> Bool = { $0.hasPrefix("/\(AssetAddress.module)/") }
        /// Bytes a second below which such a body is abandoned, and the time before the rate is first checked. The same for
        /// each piece of a file that is sent.
        package var slowestTransfer = Limits.slowestUpload
        package var slowTransferGrace = Duration.milliseconds(Limits.slowUploadGrace)
        /// Seconds that `stop()` waits for requests to arrive whole and to be answered, and for answers to be read. What is
        /// not answered by then is answered with `unfinished`.
        package var stopTimeout = 2.0
        /// Seconds without a request after which no more are expected on the connections that are open.
        package var stopQuiet = 0.03
        /// Seconds that `stop()` waits for `unfinished` to be read.
        package var unfinishedTimeout = 1.0
        /// Says that a request could not be finished.
        package var unfinished = HTTPResponse(status: 503)
        /// Bytes of bodies that have arrived and of answers that are being read, of all connections together. Where there is no
        /// room for more, the account that has most of it loses connections; to one of its own requests those that have held
        /// some for longer than `heldPatience` seconds.
        package var heldLimit = Limits.heldBytes
        package var heldPatience = 10.0
        /// The account whose request this is; nil for none, which the client's address stands for.
        package var account: @Sendable (HTTPRequest) -> String? = { _ in nil }
        /// Says that there is no room.
        package var busy: @Sendable (HTTPRequest) -> HTTPResponse = { _ in HTTPResponse(status: 503) }

        package init() {}
    }

    package let port: UInt16
    private let bridge: HTTPBridge
    private let running: Mutex<Running?>

    /// What is stopped with the server.
    private struct Running: @unchecked Sendable {
        // `@unchecked`: the thread that takes it out of the server's lock owns it.
        var acceptor: Acceptor
        var daemons: [OpaquePointer]
        var sockets: [ListeningSocket]
    }

    /// Starts to serve `sockets` and owns them from here; `port` is the first one's.
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

    /// Stops accepting, finishes the requests that were accepted, and those that follow on their connections, each of which ends
    /// with its next answer; then closes every connection. Takes no longer than `stopTimeout` and `unfinishedTimeout`.
    /// Calling it again does nothing.
    package func stop() async {
        do {
            try await NativeThread.run("stop") { [self] in stopBlocking() }
        } catch {
            // Without a thread left it blocks this one, as stopping it is all the same.
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
        // From here on no handler begins: what still arrives is answered at once.
        bridge.isClosing.store(true, ordering: .sequentiallyConsistent)
        if !isDone || bridge.openRequests.wait(timeout: .now() + bridge.options.stopQuiet) == .timedOut {
            bridge.streams.cutAll()
            bridge.answerSuspended(bridge.options.unfinished)
            _ = bridge.openRequests.wait(timeout: .now() + bridge.options.unfinishedTimeout)
        }
        // A daemon may not be stopped while one of its connections is suspended. Such a one ends with the process.
        let hasEnded = bridge.runningHandlers.wait(timeout: .now() + bridge.options.stopQuiet) == .success
        guard hasEnded, !bridge.hasSuspended else { return }
        for daemon in taken.daemons { MHD_stop_daemon(daemon) }
    }

    /// Returns when every request is answered and no other came for a moment: a client that has had an answer and asks again
    /// finds its connection open, gets one more, and is told that it was the last.
    /// - Returns: false where that took too long.
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
