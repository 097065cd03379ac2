import CMicroHTTPD
import Glibc
import Synchronization

/// One connection, and until when what is under way on it must be over.
///
/// libmicrohttpd closes a connection on which nothing moves. One that drips, a byte now and then, would keep its place
/// for ever, and there are not many places.
final class WatchedConnection: Sendable {
    let descriptor: Int32
    /// Milliseconds of the monotonic clock; 0 while a request is being answered, which is the server's own affair.
    private let deadline: Atomic<Int64>
    /// An answer is being read: its client may have finished sending.
    private let isAnswered = Atomic(false)
    /// Whether `HeldBytes` may count something for it. Only its thread changes it.
    let holdsBytes = Atomic(false)

    init(_ descriptor: Int32, _ deadline: Int64) {
        self.descriptor = descriptor
        self.deadline = Atomic(deadline)
    }

    /// A request is arriving, or an answer is being read: `bytes` of it so far, or of all.
    func allow(
        _ options: HTTPServer.Options, bytes: Int = 0, since start: Int64 = WatchedConnection.now,
        isAnswer: Bool = false
    ) {
        isAnswered.store(isAnswer, ordering: .relaxed)
        let transfer = Int64(bytes) * 1000 / Int64(options.slowestMessage)
        deadline.store(start + Int64(options.arrivalTimeout * 1000) + transfer, ordering: .relaxed)
    }

    /// A piece of a file is being read. Each has its own time, so that no fast beginning pays for a slow end.
    func allowPiece(_ options: HTTPServer.Options, bytes: Int, since start: Int64 = WatchedConnection.now) {
        isAnswered.store(true, ordering: .relaxed)
        let grace = Int64(options.slowTransferGrace / .milliseconds(1))
        deadline.store(start + grace + Int64(bytes) * 1000 / options.slowestTransfer, ordering: .relaxed)
    }

    /// The next request may begin, as long as the connection may be idle, and then arrive.
    func allowNext(_ options: HTTPServer.Options) {
        allow(options, since: Self.now + Int64(options.idleTimeout) * 1000)
    }

    /// Writes an answer past libmicrohttpd and ends the connection. Only where none has been begun, on the connection's
    /// thread.
    func refuse(_ answer: [UInt8]) {
        answerEarly(answer)
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Writes an answer past libmicrohttpd and shuts down sending only: bytes that arrive at a closed socket cause a reset, which
    /// can discard the answer before the client reads it (RFC 9112 §9.6, lingering close).
    func answerEarly(_ answer: [UInt8]) {
        _ = send(descriptor, answer, answer.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        shutdown(descriptor, Int32(SHUT_WR))
    }

    func suspendDeadline() {
        deadline.store(0, ordering: .relaxed)
    }

    /// - Parameter context: what `ConnectionWatch.opened` returned, unretained.
    static func from(_ context: UnsafeMutableRawPointer) -> WatchedConnection {
        Unmanaged<WatchedConnection>.fromOpaque(context).takeUnretainedValue()
    }

    func isLate(_ now: Int64) -> Bool {
        let deadline = deadline.load(ordering: .relaxed)
        return deadline != 0 && deadline <= now
    }

    /// Whether a request is arriving that never will, as its client sends no more. libmicrohttpd goes on waiting for it.
    var isAbandoned: Bool {
        guard deadline.load(ordering: .relaxed) != 0, !isAnswered.load(ordering: .relaxed) else { return false }
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
    }

    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

/// The open connections.
final class ConnectionWatch: Sendable {
    private let connections = Mutex<[Int32: WatchedConnection]>([:])

    var isEmpty: Bool { connections.withLock(\.isEmpty) }

    func opened(_ connection: OpaquePointer, _ options: HTTPServer.Options) -> WatchedConnection {
        let watched = WatchedConnection(nephos_mhd_socket(connection), 0)
        watched.allow(options)
        connections.withLock { $0[watched.descriptor] = watched }
        return watched
    }

    /// Called before the socket is closed, so its number is not reused yet.
    func closed(_ watched: WatchedConnection) {
        connections.withLock { connections in
            if connections[watched.descriptor] === watched { connections[watched.descriptor] = nil }
        }
    }

    /// Ends a connection, unless it is closed: its thread sees the end of the stream and closes it.
    func end(_ connection: WatchedConnection) {
        connections.withLock { connections in
            if connections[connection.descriptor] === connection { shutdown(connection.descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Ends the connections whose time is over or whose client is gone: their threads see the end of the stream and close them.
    func endLate() {
        let now = WatchedConnection.now
        connections.withLock { connections in
            for connection in connections.values where connection.isLate(now) || connection.isAbandoned {
                shutdown(connection.descriptor, Int32(SHUT_RDWR))
            }
        }
    }
}
