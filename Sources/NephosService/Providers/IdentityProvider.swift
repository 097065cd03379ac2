/// An identity provider by which people sign in (OpenID Connect Core 1.0).
package struct IdentityProvider: Sendable {
    /// How the provider's answer comes back through the browser.
    package enum ResponseMode: String, Hashable, Sendable, CaseIterable {
        case query
        /// By a form of the provider's page. Apple demands it where the scopes are not empty.
        case formPost = "form_post"
    }

    /// What identifies this server to the provider.
    package enum Secret: Sendable {
        case text(String)
        /// A secret that is made for each request (Sign in with Apple, client secret).
        case signed(SignedSecret)
    }

    /// The name in URLs: lower-case letters, digits and hyphens.
    package let name: String
    /// The name for people.
    package let title: String
    /// The issuer's identifier, which tokens repeat byte by byte.
    package let issuer: ProviderAddress
    package let clientID: String
    let secret: Secret
    let scopes: [String]
    package let responseMode: ResponseMode
    /// The path of a file of PEM certificates that are trusted instead of the system's; nil for the system's.
    let certificates: String?

    /// - Throws: `invalidArguments` with the rule that a value breaks.
    package init(
        name: String, title: String, issuer: String, clientID: String, secret: Secret,
        scopes: [String] = ["openid", "email", "profile"], responseMode: ResponseMode = .query,
        certificates: String? = nil
    ) throws(ServiceError) {
        guard Self.isName(name) else {
            throw .invalid("the name of a provider has 1 to 32 lower-case letters, digits and hyphens")
        }
        guard let address = ProviderAddress(issuer), !address.hasQuery else {
            throw .invalid("the issuer of '\(name)' is no https:// URL without a query (http:// on this machine alone)")
        }
        guard Self.isLine(title, longest: 60), Self.isLine(clientID, longest: 500) else {
            throw .invalid("'\(name)' needs a title of up to 60 bytes and a client ID of up to 500")
        }
        guard scopes.contains("openid"), scopes.allSatisfy(Self.isScope) else {
            throw .invalid("the scopes of '\(name)' are words, and 'openid' is one of them")
        }
        (self.name, self.title, self.issuer, self.clientID) = (name, title, address, clientID)
        (self.secret, self.scopes, self.responseMode) = (secret, scopes, responseMode)
        self.certificates = certificates
    }

    /// Whether a text has the form of a provider's name.
    package static func isName(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
            }
    }

    private static func isLine(_ text: String, longest: Int) -> Bool {
        (1...longest).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    }

    /// Whether a text is a scope (RFC 6749 §3.3).
    private static func isScope(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
            }
    }
}

/// The identity providers of a server, and how it reaches them.
package struct ProviderSettings: Sendable {
    /// The maximum number of providers.
    static let limit = 8

    package let providers: [IdentityProvider]
    let outlet: ProviderOutlet?

    /// The settings of a server without providers.
    package static let none = ProviderSettings()

    private init() { (providers, outlet) = ([], nil) }

    /// - Throws: `invalidArguments` for too many providers, and for two with one name or one issuer: an account of
    ///   either would be one of the other.
    package init(_ providers: [IdentityProvider], outlet: ProviderOutlet) throws(ServiceError) {
        guard providers.count <= Self.limit else { throw .invalid("there are more than \(Self.limit) providers") }
        for (index, provider) in providers.enumerated() {
            for other in providers[..<index] {
                guard other.name != provider.name else { throw .invalid("two providers are called '\(other.name)'") }
                guard other.issuer != provider.issuer else {
                    throw .invalid("'\(other.name)' and '\(provider.name)' have the same issuer")
                }
            }
        }
        (self.providers, self.outlet) = (providers, outlet)
    }

    /// The clients of the providers, by their names.
    func clients(now: @escaping @Sendable () -> Int64) -> [String: ProviderClient] {
        guard let outlet else { return [:] }
        return Dictionary(
            providers.map { ($0.name, ProviderClient($0, outlet, now: now)) }, uniquingKeysWith: { first, _ in first })
    }
}
