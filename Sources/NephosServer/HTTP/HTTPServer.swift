import CMicroHTTPD
import Dispatch
import Glibc
import Synchronization

/// An HTTP/1.1 server on libmicrohttpd: bytes in, `HTTPRequest` out; `HTTPResponse` in, bytes out.
///
/// Its epoll threads parse and write. A request that has arrived whole suspends its connection and runs `handler` in a
/// task; the answer resumes the connection. While a connection is suspended nothing watches it, so a client that goes
/// away meanwhile costs one answer and nothing else.
package final class HTTPServer: Sendable {
    package typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse

    package struct Options: Sendable {
        /// Threads that parse requests and write answers. At least 2.
        package var threads: UInt32 = 2
        /// Connections beyond it wait in the listening queue. Stays under the usual limit of 1024 open files.
        package var connectionLimit: UInt32 = 900
        /// Seconds without a byte after which a connection is closed.
        package var idleTimeout: UInt32 = 60
        /// The longest body that is handed to the handler, in bytes.
        package var bodyLimit = 2 * 1024 * 1024
        /// How much of a longer body is read and dropped, so that the client gets to read the answer, before the
        /// connection is closed.
        package var droppedBodyLimit = 16 * 1024 * 1024
        /// Seconds that `stop()` waits for requests that have not arrived whole, and for answers to be read.
        package var stopTimeout = 10.0

        package init() {}
    }

    package let port: UInt16
    private let socket: ListeningSocket
    private let bridge: HTTPBridge
    private let daemon: Mutex<OpaquePointer?>

    /// Starts to serve `socket` and owns it from here.
    package init(
        _ socket: ListeningSocket, options: Options = Options(),
        log: @escaping @Sendable (String) -> Void = { _ in }, handler: @escaping Handler
    ) throws(ListeningError) {
        let bridge = HTTPBridge(options: options, log: log, handler: handler)
        guard let daemon = bridge.startDaemon(on: socket.descriptor) else {
            let message = String(cString: strerror(errno))
            socket.close()
            throw .system(call: "MHD_start_daemon", message: message)
        }
        self.socket = socket
        self.port = socket.port
        self.bridge = bridge
        self.daemon = Mutex(daemon)
    }

    /// Stops accepting, finishes the requests that were accepted, then closes every connection. Calling it again does
    /// nothing.
    package func stop() async {
        await onOwnThread { [self] in stopBlocking() }
    }

    private func stopBlocking() {
        let taken = daemon.withLock { daemon in
            defer { daemon = nil }
            return daemon.map { UInt(bitPattern: $0) }
        }
        guard let taken, let daemon = OpaquePointer(bitPattern: taken) else { return }
        bridge.isStopping.store(true, ordering: .releasing)
        MHD_quiesce_daemon(daemon)
        _ = bridge.openRequests.wait(timeout: .now() + bridge.options.stopTimeout)
        // A daemon may not be stopped while one of its connections is suspended.
        bridge.runningHandlers.wait()
        MHD_stop_daemon(daemon)
        socket.close()
    }
}
