import FoundationEssentials
import NephosCrypto
import NephosWire

/// What a sign-in by a provider is for.
package enum ProviderPurpose: Codable, Hashable, Sendable {
    /// An app: the text of a `redirectURL`.
    case app(request: String)
    /// A page of this server, by its path.
    case page(String)
    /// The provider is added to the account of a browser's session, by the session's name.
    case addition(session: String)
}

/// A sign-in by a provider that was begun: the content of the parameter `state`, which nothing stores. It is encrypted and
/// authenticated by the installation's key, and bound to the browser by a secret that only the browser has, of which the
/// PKCE verifier and the nonce are made too. So neither a stolen database nor an address that leaked continues it.
package struct ProviderSignIn: Codable, Hashable, Sendable {
    package var provider: String
    package var purpose: ProviderPurpose
    package var keepsSignedIn: Bool
    /// Random, for its single use.
    var id: String
    /// The hash of the browser's secret.
    var browser: String
    /// The store's token epoch in which it began. A database that may lack its use begins another epoch.
    var epoch: Int64
    var issuedAt: Int64

    static func hash(ofBrowser secret: String) -> String { SecretToken.hash(of: "provider \(secret)") }

    /// The verifier of the code (RFC 7636): 64 characters.
    func verifier(_ browserSecret: String) -> String { SecretToken.hash(of: "verifier \(id) \(browserSecret)") }

    func nonce(_ browserSecret: String) -> String { SecretToken.hash(of: "nonce \(id) \(browserSecret)") }

    /// The challenge of a verifier by the method S256 (RFC 7636 §4.2).
    static func challenge(_ verifier: String) -> String {
        let hash = StreamingHash(.sha256)
        Array(verifier.utf8).withUnsafeBytes { hash.update($0) }
        return Base64URL.text(of: hash.finish())
    }

    private static let tokenPurpose = "provider sign-in"

    func text(_ key: AuthenticationKey) -> String? {
        guard let content = try? JSONEncoder().encode(self) else { return nil }
        return AuthenticatedToken([UInt8](content)).text(key, purpose: Self.tokenPurpose, context: Array(provider.utf8))
    }

    /// Nil unless `text` made the text, for the same provider.
    init?(_ text: String, provider: String, _ key: AuthenticationKey) {
        guard let token = AuthenticatedToken(text, key, purpose: Self.tokenPurpose, context: Array(provider.utf8)),
            let found = try? JSONDecoder().decode(Self.self, from: Data(token.content)),
            found.provider.hasSameBytes(as: provider)
        else { return nil }
        self = found
    }

    init(
        provider: String, purpose: ProviderPurpose, keepsSignedIn: Bool, id: String, browser: String, epoch: Int64,
        issuedAt: Int64
    ) {
        (self.provider, self.purpose, self.keepsSignedIn) = (provider, purpose, keepsSignedIn)
        (self.id, self.browser, self.epoch, self.issuedAt) = (id, browser, epoch, issuedAt)
    }
}

/// The parameters with which a provider's answer comes back through the browser.
package struct ProviderResponse: Sendable {
    package var code: String
    /// The issuer (RFC 9207); nil without one.
    package var issuer: String?
    /// Whether it is an error, such as a person who did not agree.
    package var isError: Bool
    /// What Apple tells of the person, once: a JSON object; nil without one.
    package var user: String?

    package init(code: String, issuer: String?, isError: Bool, user: String? = nil) {
        (self.code, self.issuer, self.isError, self.user) = (code, issuer, isError, user)
    }

    /// The name in `user`, which nothing vouches for; nil without one.
    var userName: String? {
        struct User: Decodable {
            struct Name: Decodable { var firstName, lastName: String? }
            var name: Name?
        }
        guard let user, let found = try? JSONDecoder().decode(User.self, from: Data(user.utf8)).name else { return nil }
        let name = [found.firstName, found.lastName].compactMap(\.self).joined(separator: " ")
        return name.isEmpty ? nil : name
    }
}
