import Glibc

/// Why a server cannot listen.
package enum ListeningError: Error, Hashable, Sendable, CustomStringConvertible {
    case portInUse(UInt16)
    case notPermitted(UInt16)
    case system(call: String, message: String)

    package var description: String {
        switch self {
        case .portInUse(let port): "port \(port) is in use by another program"
        case .notPermitted(let port): "no permission to listen on port \(port)"
        case .system(let call, let message): "\(call): \(message)"
        }
    }
}

/// A bound socket that accepts TCP connections. Whoever holds it closes it.
package struct ListeningSocket: Sendable {
    package let descriptor: Int32
    /// The port it is bound to, also where 0 was asked for.
    package let port: UInt16

    /// Listens on 127.0.0.1.
    /// - Parameter port: 0 for any free one.
    package init(loopbackPort port: UInt16) throws(ListeningError) {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_NONBLOCK | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw Self.failure("socket", port) }
        do throws(ListeningError) {
            // A port in TIME_WAIT after a restart is free; one that another program listens on is not.
            var yes: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
            try Self.bind(descriptor, port)
            guard listen(descriptor, SOMAXCONN) == 0 else { throw Self.failure("listen", port) }
            self.port = try Self.boundPort(descriptor)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        self.descriptor = descriptor
    }

    package func close() {
        _ = Glibc.close(descriptor)
    }

    private static func bind(_ descriptor: Int32, _ port: UInt16) throws(ListeningError) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw failure("bind", port) }
    }

    private static func boundPort(_ descriptor: Int32) throws(ListeningError) -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard result == 0 else { throw failure("getsockname", 0) }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func failure(_ call: String, _ port: UInt16) -> ListeningError {
        switch errno {
        case EADDRINUSE: .portInUse(port)
        case EACCES: .notPermitted(port)
        case let code: .system(call: call, message: String(cString: strerror(code)))
        }
    }
}
