import FoundationEssentials
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
    /// The URL to which browsers go after a sign-in, with the web auth token; nil where it goes to the app's window.
    var callback: String?
    var createdAt: Int64
    /// The time in milliseconds since 1970 at which the token expires; nil for never.
    var expiresAt: Int64?

    func isValid(container: String, environment: String, at now: Int64) -> Bool {
        self.container == container && self.environment == environment && expiresAt.map { now < $0 } ?? true
    }
}

/// The rules of the URL to which a browser goes after a sign-in.
package enum SignInCallback {
    private static let longest = 2000

    /// - Throws: `invalidArguments` unless the text is an `https` URL without a fragment; `http` is for localhost alone.
    static func check(_ text: String) throws(ServiceError) {
        let isPlain = text.utf8.allSatisfy { byte in
            // What no escape, header or attribute needs quotes for.
            byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "'")
                && byte != UInt8(ascii: "<") && byte != UInt8(ascii: ">") && byte != UInt8(ascii: "\\")
                && byte != UInt8(ascii: "#") && byte != UInt8(ascii: ";")
        }
        guard isPlain, text.utf8.count <= longest, let url = URLComponents(string: text), url.host?.isEmpty == false,
            url.user == nil, url.password == nil
        else {
            throw .invalid(
                "'\(Identifier.excerpt(text))' is not a URL for a sign-in's end: it is absolute, without '#'")
        }
        try WebOrigin.check(origin(of: text))
    }

    /// The origin of a checked URL.
    package static func origin(of text: String) -> String {
        let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count > 2 else { return text }
        return "\(parts[0])//\(parts[2].prefix { $0 != "?" })"
    }

    /// The URL with the web auth token under both of its names (CloudKit Web Services, redirect flow).
    /// - Parameter nonce: that of the sign-in; nil for none.
    package static func url(_ callback: String, token: String, nonce: String? = nil) -> String {
        let mark = callback.contains("?") ? "&" : "?"
        return "\(callback)\(mark)ckWebAuthToken=\(token)&ckSession=\(token)" + (nonce.map { "&ckNonce=\($0)" } ?? "")
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
