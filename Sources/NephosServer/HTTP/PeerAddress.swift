import Glibc

/// The network address that identifies a client without an account.
struct PeerAddress: Hashable, Sendable {
    /// The bytes of the address; empty if the address is unknown.
    let bytes: [UInt8]

    init() { bytes = [] }

    /// Reads the address of a connection's peer. An IPv6 client has a whole /64 (RFC 6177), so the prefix identifies
    /// it. For IPv4 and for the loopback, whose IPv6 forms begin with zeros, the whole address identifies the client.
    init(of descriptor: Int32) {
        var address = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_storage>.size)
        var size = socklen_t(address.count)
        let family = address.withUnsafeMutableBytes { raw -> Int32 in
            let isKnown = raw.withMemoryRebound(to: sockaddr.self) {
                $0.baseAddress.map { getpeername(descriptor, $0, &size) } == 0
            }
            return isKnown ? Int32(raw.load(as: sa_family_t.self)) : AF_UNSPEC
        }
        switch family {
        case AF_INET: bytes = Array(address[4..<8])
        case AF_INET6:
            let network = address[8..<16]
            bytes = network.contains { $0 != 0 } ? Array(network) : Array(address[8..<24])
        default: bytes = []
        }
    }
}
