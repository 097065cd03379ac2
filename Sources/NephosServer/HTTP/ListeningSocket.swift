// CMicroHTTPD provides SOCK_STREAM, which the modules of the C libraries share.
import CMicroHTTPD
import Glibc

/// The reason why a server cannot listen for connections.
package enum ListeningError: Error, Hashable, Sendable, CustomStringConvertible {
    case portInUse(UInt16)
    case notPermitted(UInt16)
    case system(call: String, message: String)
    /// The process cannot create enough threads. The first value is the number of threads that it can create.
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

/// A bound socket that accepts TCP connections from this machine. The owner of the value closes it.
package struct ListeningSocket: Sendable {
    package enum Family: Hashable, Sendable {
        case ipv4, ipv6
    }

    package let descriptor: Int32
    package let family: Family
    /// The port to which the socket is bound, even if port 0 was requested.
    package let port: UInt16

    /// Listens on 127.0.0.1 and, if the machine has it, on ::1, because `localhost` may resolve to either.
    /// - Parameter port: the port to bind; 0 selects a port that is free on both addresses.
    package static func loopback(port: UInt16) throws(ListeningError) -> [ListeningSocket] {
        var attempts = port == 0 ? 16 : 1
        while true {
            attempts -= 1
            let first = try ListeningSocket(.ipv4, loopbackPort: port)
            do throws(ListeningError) {
                return [first, try ListeningSocket(.ipv6, loopbackPort: first.port)]
            } catch .system {
                // This machine has no IPv6.
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
            // Allows a port in the state TIME_WAIT after a restart. A port on which another program listens is still
            // refused.
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

    /// Binds the socket and returns the bound port.
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

    /// Binds the socket to an address of one family. Returns the address that the system assigned.
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
