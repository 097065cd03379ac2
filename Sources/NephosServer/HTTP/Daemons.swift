import CMicroHTTPD
import Glibc

/// The daemons of libmicrohttpd, a thread each. A daemon is for TLS or for plain connections, so there are as many of
/// each kind as sockets of that kind need.
struct Daemons: @unchecked Sendable {
    // `@unchecked`: any thread may add connections (MHD_add_connection). The thread that removes the server's state from
    // its lock stops the daemons, and no other does.
    private(set) var plain: [OpaquePointer] = []
    private(set) var secure: [OpaquePointer] = []

    /// Starts the daemons that `sockets` need.
    init(for sockets: [ListeningSocket], _ bridge: HTTPBridge) throws(ListeningError) {
        do throws(ListeningError) {
            if sockets.contains(where: { !$0.isTLS }) { try start(&plain, isTLS: false, bridge) }
            if sockets.contains(where: \.isTLS) { try start(&secure, isTLS: true, bridge) }
        } catch {
            stop()
            throw error
        }
    }

    private func start(_ daemons: inout [OpaquePointer], isTLS: Bool, _ bridge: HTTPBridge) throws(ListeningError) {
        for _ in 0..<max(2, bridge.options.threads) {
            guard let daemon = bridge.startDaemon(isTLS: isTLS) else {
                throw .system(call: "MHD_start_daemon", message: String(cString: strerror(errno)))
            }
            daemons.append(daemon)
        }
    }

    func of(_ socket: ListeningSocket) -> [OpaquePointer] { socket.isTLS ? secure : plain }

    /// The number of connections of all daemons. Those that were added a moment ago may be missing.
    var connections: Int {
        let count = plain.reduce(0) { $0 + Self.connections(of: $1) }
        return secure.reduce(count) { $0 + Self.connections(of: $1) }
    }

    static func connections(of daemon: OpaquePointer) -> Int { Int(nephos_mhd_connections(daemon)) }

    func stop() {
        for daemon in plain + secure { MHD_stop_daemon(daemon) }
    }
}
