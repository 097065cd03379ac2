import NephosStorage

/// An API token of a container and environment (CloudKit Web Services, API tokens). It is no secret: web pages contain
/// it. It says which pages may call the service, and whether people may sign in there.
struct APIToken: StoredEntry, Hashable {
    static let kind = InstallationEntry.Kind.apiToken

    var container: String
    var environment: String
    /// A name for people.
    var name: String
    /// The origins of the web pages that may use the token, such as `https://app.example.org`. Programs send none.
    var origins: [String]
    /// Whether people may sign in with the token; otherwise it only reads public records.
    var allowsSignIn: Bool
    var createdAt: Int64
    /// The time in milliseconds since 1970 at which the token expires; nil for never.
    var expiresAt: Int64?

    func isValid(container: String, environment: String, at now: Int64) -> Bool {
        self.container == container && self.environment == environment && expiresAt.map { now < $0 } ?? true
    }
}

/// The rules of a web origin (RFC 6454 §6.1): scheme, host, and a port that is not the scheme's.
enum WebOrigin {
    /// - Throws: `invalidArguments` unless the text is an origin in the form in which browsers send it.
    static func check(_ text: String) throws(ServiceError) {
        let isLoopback = ["http://localhost", "http://127.0.0.1", "http://[::1]"].contains { loopback in
            text == loopback || text.hasPrefix(loopback + ":")
        }
        let rest = text.dropFirst(text.hasPrefix("https://") ? 8 : 7)
        let isForm =
            !rest.isEmpty && text == text.lowercased()
            && rest.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
                    UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        guard isForm, text.hasPrefix("https://") || isLoopback else {
            throw .invalid(
                "'\(Identifier.excerpt(text))' is not the origin of a web page: it is 'https://' and the host in lower "
                    + "case, without a path, such as https://app.example.org; 'http://' for localhost alone")
        }
        guard !text.hasSuffix(":443") || !text.hasPrefix("https://") else {
            throw .invalid("browsers leave out the port 443: write '\(text.dropLast(4))'")
        }
    }
}
