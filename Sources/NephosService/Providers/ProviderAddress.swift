import FoundationEssentials
import NephosWire

/// A URL of an identity provider: https, or http on this machine alone.
package struct ProviderAddress: Hashable, Sendable {
    /// The URL as it was given.
    package let text: String
    package let isSecure: Bool

    private static let longest = 2000
    /// The hosts of this machine, compared whole: `127.0.0.1.example.org` is elsewhere.
    private static let ownHosts = ["localhost", "127.0.0.1", "::1", "[::1]"]

    /// Nil for any other URL, for one with a user or a fragment, and for one whose host another parser could read
    /// differently.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let start = text.firstRange(of: "://")?.upperBound,
            text[start...].prefix(while: { !"/?".contains($0) }).utf8.allSatisfy(Self.isOfAuthority),
            !text.utf8.contains(UInt8(ascii: "\\")), let url = URLComponents(string: text), url.fragment == nil,
            url.user == nil, url.password == nil, let host = url.host?.lowercased(), !host.isEmpty,
            url.port.map({ (1...65_535).contains($0) }) ?? true
        else { return nil }
        let scheme = url.scheme?.lowercased()
        guard scheme == "https" || scheme == "http" && Self.ownHosts.contains(host) else { return nil }
        self.text = text
        isSecure = scheme == "https"
    }

    private static func isOfAuthority(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"),
            UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }

    /// Whether the URL has a query.
    var hasQuery: Bool { text.utf8.contains(UInt8(ascii: "?")) }
}

/// The format of forms and queries.
enum FormEncoding {
    static func text(_ fields: [(name: String, value: String)]) -> String {
        fields.map { "\($0.name)=\(PercentEncoding.escaped($0.value))" }.joined(separator: "&")
    }
}
