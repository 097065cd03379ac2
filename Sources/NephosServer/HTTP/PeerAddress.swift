import CMicroHTTPD
import Glibc

/// The network address that identifies a client without an account.
struct PeerAddress: Hashable, Sendable {
    /// The bytes of the address; empty if the address is unknown.
    let bytes: [UInt8]

    init() { bytes = [] }

    /// An IPv6 client has a whole /64 (RFC 6177), so the prefix identifies it. For IPv4 and for the loopback, whose IPv6
    /// form begins with zeros, the whole address identifies the client.
    init(_ address: IPAddress) {
        bytes = address.high == 0 ? address.bytes : Array(address.bytes.prefix(8))
    }
}

/// The other end of a connection.
struct Peer: Sendable {
    /// The address of the client, or of its proxy; nil over a Unix socket, or if it is unknown.
    private(set) var address: IPAddress?
    /// The user ID of the process that connected over a Unix socket; nil over TCP.
    private(set) var localUser: UInt32?

    /// Reads the peer of a connection.
    init(of descriptor: Int32) {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutableBytes(of: &storage) { raw in
            guard let address = raw.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                getpeername(descriptor, address, &size) == 0
            else { return }
            switch Int32(address.pointee.sa_family) {
            case AF_INET: self.address = IPAddress(raw.load(as: sockaddr_in.self).sin_addr)
            case AF_INET6: self.address = IPAddress(raw.load(as: sockaddr_in6.self).sin6_addr)
            case AF_UNIX: localUser = Self.user(of: descriptor)
            default: break
            }
        }
    }

    private static func user(of descriptor: Int32) -> UInt32? {
        var user: UInt32 = 0
        return nephos_local_user(descriptor, &user) ? user : nil
    }
}
