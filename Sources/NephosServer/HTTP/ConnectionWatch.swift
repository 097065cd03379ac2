import CMicroHTTPD
import Glibc
import NephosThreads
import Synchronization

/// One connection, with the deadline of its current request or answer.
///
/// libmicrohttpd's time-out closes only connections without any traffic. A slow client that sends a byte now and then
/// (slowloris) would occupy one of the few connections for ever.
final class WatchedConnection: Sendable {
    let descriptor: Int32
    let peer: Peer
    /// The address that identifies a client without an account, unless a proxy names another.
    let client: PeerAddress
    /// The deadline in milliseconds of the monotonic clock; 0 for no deadline, while a handler runs.
    private let deadline: Atomic<Int64>
    /// Whether the client is reading an answer. The client may then have finished sending.
    private let isAnswered = Atomic(false)
    /// Whether `HeldBytes` may count bytes for the connection. Only the connection's thread changes it.
    let holdsBytes = Atomic(false)

    /// The credentials that the session of a TLS connection uses; nil for a plain connection.
    private let credentials: TLSCredentials?

    /// Whether the peer is a proxy that is believed about its clients.
    let isProxy: Bool

    init(
        _ descriptor: Int32, _ deadline: Int64 = 0, credentials: TLSCredentials? = nil, proxies: TrustedProxies = .none
    ) {
        self.credentials = credentials
        self.descriptor = descriptor
        peer = Peer(of: descriptor)
        client = peer.address.map(PeerAddress.init) ?? PeerAddress()
        isProxy = peer.address.map(proxies.contains) ?? false
        self.deadline = Atomic(deadline)
    }

    /// Sets the deadline of an arriving request or of an answer in transit. `bytes` is the size of the request so far,
    /// or of the whole answer.
    func allow(
        _ options: HTTPServer.Options, bytes: Int = 0, since start: Int64 = MonotonicTime.now.milliseconds,
        isAnswer: Bool = false
    ) {
        isAnswered.store(isAnswer, ordering: .relaxed)
        let transfer = Int64(bytes) * 1000 / Int64(options.slowestMessage)
        deadline.store(start + Int64(options.arrivalTimeout * 1000) + transfer, ordering: .relaxed)
    }

    /// Sets the deadline for a piece of a file. Each piece has its own deadline, so that fast first pieces do not
    /// extend the deadlines of slow later ones.
    func allowPiece(_ options: HTTPServer.Options, bytes: Int, since start: Int64 = MonotonicTime.now.milliseconds) {
        isAnswered.store(true, ordering: .relaxed)
        let grace = Int64(options.slowTransferGrace / .milliseconds(1))
        deadline.store(start + grace + Int64(bytes) * 1000 / options.slowestTransfer, ordering: .relaxed)
    }

    /// Sets the deadline of the next request: the idle time-out plus the time-out for its arrival.
    func allowNext(_ options: HTTPServer.Options) {
        allow(options, since: MonotonicTime.now.milliseconds + Int64(options.idleTimeout) * 1000)
    }

    var isTLS: Bool { credentials != nil }
    /// Whether the number of the client's connections is limited: not that of a trusted proxy, nor on this machine.
    var isLimited: Bool { !isProxy && peer.address.map { !$0.isLoopback } ?? false }

    func suspendDeadline() {
        deadline.store(0, ordering: .relaxed)
    }

    /// - Parameter context: the unretained connection that `HTTPBridge.opened` returned.
    static func from(_ context: UnsafeMutableRawPointer) -> WatchedConnection {
        Unmanaged<WatchedConnection>.fromOpaque(context).takeUnretainedValue()
    }

    func isLate(_ now: Int64) -> Bool {
        let deadline = deadline.load(ordering: .relaxed)
        return deadline != 0 && deadline <= now
    }

    /// Whether the client has stopped sending in the middle of a request, and the library has read all that was sent.
    /// libmicrohttpd waits for more if the end of the stream arrives together with bytes, until the deadline.
    ///
    /// This looks at the state of the socket only. The bytes belong to the library, and to TLS.
    var isAbandoned: Bool {
        guard deadline.load(ordering: .relaxed) != 0, !isAnswered.load(ordering: .relaxed) else { return false }
        return nephos_is_abandoned(descriptor)
    }
}

/// The set of open connections.
final class ConnectionWatch: Sendable {
    private struct State {
        var connections: [Int32: WatchedConnection] = [:]
        /// The number of open connections of each client, but of those without a limit.
        var counts: [PeerAddress: Int] = [:]
    }

    private let state = Mutex(State())

    var isEmpty: Bool { state.withLock(\.connections.isEmpty) }

    /// Adds a connection. One more than a client may have is ended at once.
    /// - Parameter limit: the maximum number of connections of one client.
    func opened(_ watched: WatchedConnection, limit: Int) {
        let isOne = state.withLock { state in
            state.connections[watched.descriptor] = watched
            guard watched.isLimited else { return true }
            state.counts[watched.client, default: 0] += 1
            return state.counts[watched.client, default: 0] <= limit
        }
        if !isOne { shutdown(watched.descriptor, Int32(SHUT_RDWR)) }
    }

    /// Removes a connection. Called before the socket is closed, while its number cannot be reused yet.
    func closed(_ watched: WatchedConnection) {
        state.withLock { state in
            guard state.connections[watched.descriptor] === watched else { return }
            state.connections[watched.descriptor] = nil
            guard watched.isLimited, let count = state.counts[watched.client] else { return }
            state.counts[watched.client] = count > 1 ? count - 1 : nil
        }
    }

    /// Ends an open connection. Its thread sees the end of the stream and closes the socket.
    func end(_ connection: WatchedConnection) {
        state.withLock { state in
            if state.connections[connection.descriptor] === connection {
                shutdown(connection.descriptor, Int32(SHUT_RDWR))
            }
        }
    }

    /// Whether the client of an open connection has stopped sending. A client that reads an endless body sends nothing, so it
    /// has gone: what it sent last, as TLS does at its end, need not be read for that.
    func hasGone(_ connection: WatchedConnection) -> Bool {
        state.withLock { state in
            state.connections[connection.descriptor] === connection && nephos_has_stopped_sending(connection.descriptor)
        }
    }

    /// Ends all connections that are past their deadline or have lost their client. Their threads see the end of the
    /// stream and close the sockets.
    func endLate() {
        let now = MonotonicTime.now.milliseconds
        state.withLock { state in
            for connection in state.connections.values where connection.isLate(now) || connection.isAbandoned {
                shutdown(connection.descriptor, Int32(SHUT_RDWR))
            }
        }
    }
}
