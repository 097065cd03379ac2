/// The request header with an account's token, `Authorization: Bearer TOKEN` (RFC 6750 §2.1). Unlike a query, proxies do
/// not log it.
package enum AuthorizationHeader {
    package static let name = "Authorization"

    /// The tokens of `nephos dev` begin with this prefix. The name of an account follows, in any characters.
    private static let developmentPrefix = "dev:"

    /// Returns the value of the header; nil for an empty token, and for one with a space, a control character or a
    /// character beyond ASCII, which a header cannot carry. In a token `dev:NAME`, the name is percent-encoded instead.
    package static func value(_ token: String) -> String? {
        guard token.utf8.starts(with: developmentPrefix.utf8) else {
            return isVisible(token.utf8) ? "Bearer \(token)" : nil
        }
        return
            "Bearer \(developmentPrefix)\(PercentEncoding.escaped(token.utf8.dropFirst(developmentPrefix.utf8.count)))"
    }

    /// Returns the token in the value of a header, verbatim; nil if the value is not `Bearer` and one token.
    package static func token(_ value: String) -> Substring? {
        let words = value.split { $0 == " " || $0 == "\t" }
        guard words.count == 2, words[0].lowercased() == "bearer", isVisible(words[1].utf8) else { return nil }
        return words[1]
    }

    private static func isVisible(_ text: some Collection<UInt8>) -> Bool {
        !text.isEmpty && text.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
