// For SOCK_STREAM, which the C libraries share.
import CMicroHTTPD
import Glibc

/// The reason why a server cannot listen.
package enum ListeningError: Error, Hashable, Sendable, CustomStringConvertible {
    case portInUse(UInt16)
    case notPermitted(UInt16)
    case system(call: String, message: String)
    /// The number of further threads that the process may create.
    case tooFewThreads(Int, needed: Int)

    package var description: String {
        switch self {
        case .portInUse(let port): "port \(port) is in use by another program"
        case .notPermitted(let port): "no permission to listen on port \(port)"
        case .system(let call, let message): "\(call): \(message)"
        case .tooFewThreads(let count, let needed):
            "the system lets this process have \(count) more threads, and a server needs \(needed)"
        }
    }
}

/// A bound socket that accepts TCP connections from this machine. Its owner closes it.
package struct ListeningSocket: Sendable {
    package enum Family: Hashable, Sendable {
        case ipv4, ipv6
    }

    package let descriptor: Int32
    package let family: Family
    /// The bound port, also if 0 was requested.
    package let port: UInt16

    /// Listens on 127.0.0.1 and, if the machine has it, on ::1: `localhost` may resolve to either.
    /// - Parameter port: 0 for any port that is free on both.
    package static func loopback(port: UInt16) throws(ListeningError) -> [ListeningSocket] {
        var attempts = port == 0 ? 16 : 1
        while true {
            attempts -= 1
            let first = try ListeningSocket(.ipv4, loopbackPort: port)
            do throws(ListeningError) {
                return [first, try ListeningSocket(.ipv6, loopbackPort: first.port)]
            } catch .system {
                // No IPv6 on this machine.
                return [first]
            } catch {
                first.close()
                if attempts == 0 { throw error }
            }
        }
    }

    private init(_ family: Family, loopbackPort port: UInt16) throws(ListeningError) {
        let domain = family == .ipv4 ? AF_INET : AF_INET6
        let descriptor = Glibc.socket(domain, Int32(SOCK_STREAM.rawValue) | O_NONBLOCK | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw Self.failure("socket", port) }
        do throws(ListeningError) {
            // Allows a port in TIME_WAIT after a restart, but not one on which another program listens.
            var yes: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
            self.port = try Self.bind(descriptor, family, port)
            guard listen(descriptor, SOMAXCONN) == 0 else { throw Self.failure("listen", port) }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.family = family
    }

    package func close() {
        _ = Glibc.close(descriptor)
    }

    /// Returns the bound port.
    private static func bind(_ descriptor: Int32, _ family: Family, _ port: UInt16) throws(ListeningError) -> UInt16 {
        switch family {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return UInt16(bigEndian: try bind(descriptor, address, port).sin_port)
        case .ipv6:
            var only: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &only, socklen_t(MemoryLayout<Int32>.size))
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            return UInt16(bigEndian: try bind(descriptor, address, port).sin6_port)
        }
    }

    /// Binds to an address of one family and returns the address that the system assigned.
    private static func bind<Address>(
        _ descriptor: Int32, _ address: Address, _ port: UInt16
    ) throws(ListeningError) -> Address {
        var address = address
        var size = socklen_t(MemoryLayout<Address>.size)
        let failed: String? = withUnsafeMutableBytes(of: &address) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            if Glibc.bind(descriptor, pointer, size) != 0 { return "bind" }
            return getsockname(descriptor, pointer, &size) == 0 ? nil : "getsockname"
        }
        if let failed { throw failure(failed, port) }
        return address
    }

    private static func failure(_ call: String, _ port: UInt16) -> ListeningError {
        switch errno {
        case EADDRINUSE: .portInUse(port)
        case EACCES: .notPermitted(port)
        case let code: .system(call: call, message: String(cString: strerror(code)))
        }
    }
}
