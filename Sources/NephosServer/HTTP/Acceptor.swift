import CMicroHTTPD
import Dispatch
import Glibc
import NephosThreads

/// The thread that accepts connections and assigns each to a daemon: round-robin, unless one daemon has far fewer
/// connections than the others.
///
/// If the daemons accepted connections themselves, the first to wake would take all pending ones. One thread would then
/// serve all connections of a client that opens several at once, or of a proxy, while the other threads idle.
///
/// All state is written before the thread starts.
final class Acceptor: Sendable {
    private enum Limit {
        /// The wait in milliseconds before the thread retries at the connection limit.
        static let pause: Int32 = 20
        /// The number of connections over Unix sockets beyond the limit, so that operators reach a full server.
        static let reserved = 16
        /// The difference in connections from which on a daemon with fewer connections is preferred over round-robin.
        /// It is more than one, because the counts lag behind the latest assignments.
        static let difference = 8
    }

    private let sockets: [ListeningSocket]
    private let daemons: Daemons
    private let connectionLimit: Int
    private let connections: ConnectionWatch
    /// The interval in milliseconds between two checks for overdue connections.
    private let watchInterval: Int32
    /// The descriptor that becomes readable when the thread has to end.
    private let end: Int32
    private let hasEnded = DispatchSemaphore(value: 0)

    /// - Throws: `ListeningError` `.system` if the system refuses a call.
    init(
        _ sockets: [ListeningSocket], daemons: Daemons, _ connections: ConnectionWatch,
        _ options: HTTPServer.Options
    ) throws(ListeningError) {
        self.sockets = sockets.filter { $0.family == .unix } + sockets.filter { $0.family != .unix }
        self.connections = connections
        watchInterval = Int32(max(options.watchInterval * 1000, 1))
        self.daemons = daemons
        connectionLimit = Int(options.connectionLimit)
        end = nephos_eventfd()
        guard end >= 0 else { throw .system(call: "eventfd", message: String(cString: strerror(errno))) }
    }

    deinit { close(end) }

    /// - Throws: `ListeningError` `.system` if the system cannot create a thread.
    func start() throws(ListeningError) {
        do {
            try NativeThread.start("acceptor") { [self] in
                run()
                hasEnded.signal()
            }
        } catch {
            throw .system(call: "pthread_create", message: "\(error)")
        }
    }

    /// Ends the thread. Returns once no further connection is accepted.
    func stop() {
        var one: UInt64 = 1
        _ = write(end, &one, MemoryLayout<UInt64>.size)
        hasEnded.wait()
    }

    // MARK: The thread

    private func run() {
        var polled = ([end] + sockets.map(\.descriptor)).map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        var turn = 0
        var nextWatch = MonotonicTime.now.milliseconds + Int64(watchInterval)
        while true {
            let found = poll(&polled, nfds_t(polled.count), watchInterval)
            if MonotonicTime.now.milliseconds >= nextWatch {
                connections.endLate()
                nextWatch = MonotonicTime.now.milliseconds + Int64(watchInterval)
            }
            guard found > 0 else { continue }
            if polled[0].revents != 0 {
                // Accepts the connections that are already in the backlog, so that they are answered too.
                for socket in sockets { acceptAll(socket, &turn) }
                return
            }
            for (socket, poll) in zip(sockets, polled.dropFirst()) where poll.revents != 0 {
                acceptAll(socket, &turn)
            }
        }
    }

    /// Accepts pending connections up to the limit.
    private func acceptAll(_ socket: ListeningSocket, _ turn: inout Int) {
        let own = daemons.of(socket)
        let limit = connectionLimit + (socket.family == .unix ? Limit.reserved : 0)
        while true {
            guard daemons.connections < limit else { return pause() }
            let counts = own.map(Daemons.connections)
            var address = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let isAccepted = withUnsafeMutablePointer(to: &address) { storage in
                storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    let connection = nephos_accept(socket.descriptor, address, &size)
                    guard connection >= 0 else { return false }
                    // The call closes the connection if the daemon cannot take it.
                    MHD_add_connection(own[Self.next(counts, &turn)], connection, address, size)
                    return true
                }
            }
            if isAccepted { continue }
            switch errno {
            // The client has disconnected, or a signal interrupted the call.
            case ECONNABORTED, EINTR: continue
            case EAGAIN: return
            // The process has no descriptor or no memory left.
            default: return pause()
            }
        }
    }

    /// Returns the index of the next daemon, round-robin unless another daemon has far fewer connections.
    private static func next(_ counts: [Int], _ turn: inout Int) -> Int {
        turn = (turn + 1) % counts.count
        var best = turn
        for place in counts.indices where counts[place] < counts[best] - Limit.difference { best = place }
        return best
    }

    private func pause() {
        var only = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
        _ = poll(&only, 1, Limit.pause)
    }
}
