import FoundationEssentials
import NephosService
import NephosWire

/// The secret that every request to a `nephos dev` needs that listens beyond the loopback: in the header
/// `X-Nephos-Access-Token`, or as the password of Basic authentication (RFC 7617), never in a URL.
package struct AccessToken: Hashable, Sendable {
    static let header = "X-Nephos-Access-Token"
    static let shortest = 16

    private let bytes: [UInt8]

    /// Nil unless the text has 16 to 1000 visible ASCII characters.
    package init?(_ text: String) {
        bytes = Array(text.utf8)
        guard (Self.shortest...1000).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
    }

    /// - Throws: the refusal of a request without the token. An address that the server signed, of a file or a poll,
    ///   needs none, and a preflight has none.
    func check(_ request: HTTPRequest) throws(Refusal) {
        if request.method == .options || Self.isSigned(request.target) { return }
        guard let given = request.accessToken ?? Self.password(request.authorization), isEqual(given) else {
            var refusal = Refusal(
                .authenticationFailed,
                "this nephos dev needs its access token, in the header \(Self.header) or as the password of Basic "
                    + "authentication", clientCode: .notAuthenticated)
            refusal.headers = [HTTPHeader("WWW-Authenticate", "Basic realm=\"nephos dev\", charset=\"UTF-8\"")]
            throw refusal
        }
    }

    /// Whether the target's secret authorises the request.
    private static func isSigned(_ target: String) -> Bool {
        target.hasPrefix("/\(AssetPath.module)/") || target.hasPrefix("/\(CourierPath.module)/")
    }

    /// Compares in constant time, so that the duration does not show how much of a guess is right.
    private func isEqual(_ given: String) -> Bool {
        let given = Array(given.utf8)
        var difference = given.count ^ bytes.count
        for index in bytes.indices { difference |= Int(bytes[index] ^ (index < given.count ? given[index] : 0)) }
        return difference == 0
    }

    /// Returns the password of Basic authentication; nil for another scheme.
    private static func password(_ authorization: String?) -> String? {
        guard let authorization, authorization.lowercased().hasPrefix("basic "),
            let decoded = Data(base64Encoded: String(authorization.dropFirst(6)))
        else { return nil }
        let parts = String(decoding: decoded, as: UTF8.self).split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 ? String(parts[1]) : nil
    }
}
