import Glibc

/// Whose bytes a connection holds: an account's, or those of a network address that asks without one.
enum Holder: Hashable, Sendable {
    case account(String)
    /// The bytes of the address; none where it is not known.
    case address([UInt8])

    /// The other end of a connection. An IPv6 client has a whole /64 to call from (RFC 6177), so that part tells it; IPv4 and
    /// the loopback, whose addresses begin with zeros there, are told by all of it.
    init(peerOf descriptor: Int32) {
        var address = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_storage>.size)
        var size = socklen_t(address.count)
        let family = address.withUnsafeMutableBytes { bytes -> Int32 in
            let isKnown = bytes.withMemoryRebound(to: sockaddr.self) {
                $0.baseAddress.map { getpeername(descriptor, $0, &size) } == 0
            }
            return isKnown ? Int32(bytes.load(as: sa_family_t.self)) : AF_UNSPEC
        }
        switch family {
        case AF_INET: self = .address(Array(address[4..<8]))
        case AF_INET6:
            let network = address[8..<16]
            self = .address(network.contains { $0 != 0 } ? Array(network) : Array(address[8..<24]))
        default: self = .address([])
        }
    }
}
