/// The networks of the service's counts and its audit, as people read them.
package enum NetworkText {
    /// Returns `192.0.2.7` for an IPv4 address, and `2001:db8::/64` for the first half of an IPv6 address.
    /// - Parameter text: the bytes of the network in hexadecimal digits. Another text stays as it is.
    package static func readable(_ text: String) -> String {
        guard let bits = UInt64(text, radix: 16) else { return text }
        switch text.utf8.count {
        case 8: return (0..<4).reversed().map { String(bits >> ($0 * 8) & 0xFF) }.joined(separator: ".")
        case 16:
            // The second half is the longest run of zeros, with those before it.
            let groups = (0..<4).reversed().map { bits >> ($0 * 16) & 0xFFFF }
            let count = (groups.lastIndex { $0 != 0 } ?? -1) + 1
            return groups.prefix(count).map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
        default: return text
        }
    }
}
