import CMicroHTTPD
import Glibc

/// An IPv4 or IPv6 address. An IPv4 address in IPv6 form (`::ffff:192.0.2.1`) is the IPv4 address.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The bits of the address. An IPv4 address has its IPv6 form.
    let high: UInt64
    let low: UInt64

    private static let ipv4Prefix: UInt64 = 0xFFFF_0000_0000

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// - Parameter value: the bits of an IPv4 address; `127.0.0.1` is `0x7F00_0001`.
    init(ipv4 value: UInt32) { self.init(high: 0, low: Self.ipv4Prefix | UInt64(value)) }

    init(_ address: in_addr) { self.init(ipv4: UInt32(bigEndian: address.s_addr)) }

    init(_ address: in6_addr) {
        self = withUnsafeBytes(of: address) {
            IPAddress(
                high: UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }

    /// Parses an address without port, brackets or zone; nil if the text is none.
    package init?(_ text: some StringProtocol) {
        let text = String(text)
        // The C library would read no further than a NUL.
        guard text.utf8.count < Int(INET6_ADDRSTRLEN), !text.utf8.contains(0) else { return nil }
        var (ipv4, ipv6) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, text, &ipv4) == 1 {
            self.init(ipv4)
        } else if inet_pton(AF_INET6, text, &ipv6) == 1 {
            self.init(ipv6)
        } else {
            return nil
        }
    }

    /// - Parameter bytes: the address in network order; nil unless these are 4 or 16 bytes.
    init?(_ bytes: [UInt8]) {
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        switch bytes.count {
        case 4: self.init(ipv4: UInt32(truncatingIfNeeded: number(bytes[...])))
        case 16: self.init(high: number(bytes[..<8]), low: number(bytes[8...]))
        default: return nil
        }
    }

    package var isIPv4: Bool { high == 0 && low & ~0xFFFF_FFFF == Self.ipv4Prefix }

    /// Whether the address stands for all addresses of its family: 0.0.0.0 or `::`.
    package var isAny: Bool { high == 0 && low == (isIPv4 ? Self.ipv4Prefix : 0) }

    /// Whether the address is this machine's: 127.0.0.0/8 or ::1.
    package var isLoopback: Bool { isIPv4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }

    /// Whether a host is this machine: `localhost`, or a loopback address. Other names, such as `127.example.org`, may
    /// resolve to any machine.
    package static func isLoopback(host: String) -> Bool {
        host.lowercased() == "localhost" || IPAddress(host)?.isLoopback == true
    }

    /// The address in network order: 4 or 16 bytes.
    package var bytes: [UInt8] {
        if isIPv4 { return (0..<4).map { UInt8(truncatingIfNeeded: low >> (24 - 8 * UInt64($0))) } }
        return [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * UInt64($0))) } }
    }

    package var description: String {
        let bytes = bytes
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(isIPv4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
