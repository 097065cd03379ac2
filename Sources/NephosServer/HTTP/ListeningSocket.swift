// CMicroHTTPD provides SOCK_STREAM, which the modules of the C libraries share.
import CMicroHTTPD
import Glibc

/// A bound socket that accepts connections. The owner of the value closes it.
package struct ListeningSocket: Sendable {
    package enum Family: Hashable, Sendable {
        case ipv4, ipv6, unix
    }

    package let descriptor: Int32
    package let family: Family
    /// The port to which the socket is bound, even if port 0 was requested; 0 for a Unix socket.
    package let port: UInt16
    /// Whether the server speaks TLS on this socket.
    package var isTLS = false
    /// The file of a Unix socket; nil for TCP.
    let file: UnixSocketFile?

    /// Listens on 127.0.0.1 and, if the machine has it, on ::1, because `localhost` may resolve to either.
    /// - Parameter port: the port to bind; 0 selects a port that is free on both addresses.
    package static func loopback(port: UInt16) throws(ListeningError) -> [ListeningSocket] {
        var attempts = port == 0 ? 16 : 1
        while true {
            attempts -= 1
            let first = try ListeningSocket(IPAddress(ipv4: 0x7F00_0001), port: port)
            do throws(ListeningError) {
                return [first, try ListeningSocket(IPAddress(high: 0, low: 1), port: first.port)]
            } catch .system, .unusable {
                // This machine has no IPv6.
                return [first]
            } catch {
                first.close()
                if attempts == 0 { throw error }
            }
        }
    }

    /// Listens on `ADDRESS:PORT`, as in `192.0.2.1:443` and `[2001:db8::1]:443`. `0.0.0.0` has all IPv4 addresses of the
    /// machine and `[::]` all IPv6 addresses: who wants both listens on both. Port 0 selects a free port.
    package static func listen(on text: String) throws(ListeningError) -> ListeningSocket {
        let (address, port) = try parse(text)
        return try ListeningSocket(address, port: port)
    }

    init(_ descriptor: Int32, _ family: Family, port: UInt16 = 0, file: UnixSocketFile? = nil) {
        self.descriptor = descriptor
        self.family = family
        self.port = port
        self.file = file
    }

    private init(_ address: IPAddress, port: UInt16) throws(ListeningError) {
        let family = address.isIPv4 ? Family.ipv4 : .ipv6
        let descriptor = try Self.socket(family, port)
        do throws(ListeningError) {
            // Allows a port in the state TIME_WAIT after a restart. A port on which another program listens is still
            // refused.
            var yes: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
            let bound = try Self.bind(descriptor, address, port)
            guard Glibc.listen(descriptor, SOMAXCONN) == 0 else { throw Self.failure("listen", address, port) }
            self.init(descriptor, family, port: bound)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    /// Stops listening. The file of a Unix socket is removed.
    package func close() {
        file?.remove()
        _ = Glibc.close(descriptor)
    }

    /// Creates an unbound socket that does not block and that no child process inherits.
    static func socket(_ family: Family, _ port: UInt16 = 0) throws(ListeningError) -> Int32 {
        let domain =
            switch family {
            case .ipv4: AF_INET
            case .ipv6: AF_INET6
            case .unix: AF_UNIX
            }
        let descriptor = Glibc.socket(domain, Int32(SOCK_STREAM.rawValue) | O_NONBLOCK | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw .system(call: "socket", message: String(cString: strerror(errno))) }
        return descriptor
    }

    /// Binds the socket and returns the bound port.
    private static func bind(
        _ descriptor: Int32, _ address: IPAddress, _ port: UInt16
    ) throws(ListeningError) -> UInt16 {
        if address.isIPv4 {
            var native = sockaddr_in()
            native.sin_family = sa_family_t(AF_INET)
            native.sin_port = port.bigEndian
            native.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.low).bigEndian
            return UInt16(bigEndian: try bind(descriptor, native, address, port).sin_port)
        }
        var only: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &only, socklen_t(MemoryLayout<Int32>.size))
        var native = sockaddr_in6()
        native.sin6_family = sa_family_t(AF_INET6)
        native.sin6_port = port.bigEndian
        withUnsafeMutableBytes(of: &native.sin6_addr) { $0.copyBytes(from: address.bytes) }
        return UInt16(bigEndian: try bind(descriptor, native, address, port).sin6_port)
    }

    /// Binds the socket to an address of one family. Returns the address that the system assigned.
    private static func bind<Native>(
        _ descriptor: Int32, _ native: Native, _ address: IPAddress, _ port: UInt16
    ) throws(ListeningError) -> Native {
        var native = native
        var size = socklen_t(MemoryLayout<Native>.size)
        let failed: String? = withUnsafeMutableBytes(of: &native) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            if Glibc.bind(descriptor, pointer, size) != 0 { return "bind" }
            return getsockname(descriptor, pointer, &size) == 0 ? nil : "getsockname"
        }
        if let failed { throw failure(failed, address, port) }
        return native
    }

    private static func failure(_ call: String, _ address: IPAddress, _ port: UInt16) -> ListeningError {
        switch errno {
        case EADDRINUSE: .portInUse(port)
        case EACCES: .notPermitted(port)
        case EADDRNOTAVAIL: .unusable("this machine does not have the address \(address)")
        case let code: .system(call: call, message: String(cString: strerror(code)))
        }
    }
}

extension ListeningSocket {
    /// Checks that this machine has the address. Another program may use the port meanwhile.
    package static func check(_ text: String) throws(ListeningError) {
        try ListeningSocket(parse(text).0, port: 0).close()
    }

    /// Splits `ADDRESS:PORT`.
    package static func parse(_ text: String) throws(ListeningError) -> (address: IPAddress, port: UInt16) {
        guard let colon = text.lastIndex(of: ":") else {
            throw .unusable("'\(text)' has no port: write it as in 127.0.0.1:8484 or [::1]:8484")
        }
        let (host, digits) = (text[..<colon], text[text.index(after: colon)...])
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits) else {
            throw .unusable("'\(text)' does not end in a port: write a number from 0 to 65535 after the last colon")
        }
        if host.first == "[", host.last == "]", let address = IPAddress(host.dropFirst().dropLast()),
            host.contains(":")
        {
            return (address, port)
        }
        guard let address = IPAddress(host) else {
            throw .unusable(
                "'\(host)' is not an address: write a numeric one, as in 127.0.0.1:\(port), 0.0.0.0:\(port) for all IPv4 addresses, or [::]:\(port)"
            )
        }
        guard !host.contains(":") else {
            throw .unusable("'\(text)' needs brackets around its IPv6 address: write [\(host)]:\(port)")
        }
        return (address, port)
    }
}
