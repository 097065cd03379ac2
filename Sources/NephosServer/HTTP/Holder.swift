import Glibc

/// The holder of a connection's bytes: an account, or a network address without one.
enum Holder: Hashable, Sendable {
    case account(String)
    /// The bytes of the address; empty if unknown.
    case address([UInt8])

    /// The peer of a connection. An IPv6 client has a whole /64 (RFC 6177), so that prefix identifies it; IPv4
    /// addresses and the loopback, whose IPv6 forms begin with zeros, are identified by the whole address.
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
