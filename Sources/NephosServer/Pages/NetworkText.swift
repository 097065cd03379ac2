/// The networks of the service's counts and its audit, as people read them.
enum NetworkText {
    /// Returns `192.0.2.7` for an IPv4 address, and `2001:db8::/64` for the first half of an IPv6 address.
    /// - Parameter text: the bytes of the network in hexadecimal digits. Another text stays as it is.
    static func readable(_ text: String) -> String {
        guard let bits = UInt64(text, radix: 16) else { return text }
        switch text.utf8.count {
        case 8: return IPAddress(ipv4: UInt32(truncatingIfNeeded: bits)).description
        case 16: return "\(IPAddress(high: bits, low: 0))/64"
        default: return text
        }
    }
}
