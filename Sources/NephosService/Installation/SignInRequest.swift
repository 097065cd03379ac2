import FoundationEssentials
import NephosCrypto

/// The content of a `redirectURL`: the app that asks people to sign in (CloudKit Web Services, redirect flow).
package struct SignInRequest: Codable, Hashable, Sendable {
    package var apiToken: String
    /// The origin of the app's page; nil for a program.
    package var origin: String?
    var issuedAt: Int64
    /// What the callback repeats, so that the app's page takes the token of the sign-in alone that it began; nil for none.
    package var nonce: String?
}

/// Where a person goes on after a sign-up.
package enum SignUpContinuation: Codable, Hashable, Sendable {
    /// The page of this server at a path.
    case page(path: String)
    /// The sign-in to an app, in the browser that asked for the sign-up. The link of the mail may be opened in another,
    /// whose person the app does not wait for.
    /// - Parameter browser: the name of that browser, of which no other browser knows the secret.
    case app(apiToken: String, origin: String?, browser: String, nonce: String?)
}

/// An app that asks people to sign in, as they see it.
package struct SignInApp: Hashable, Sendable {
    package var container: String
    package var environment: String
    /// The name of the API token; empty for none.
    package var name: String
    /// The URL to which the browser goes after a sign-in; nil where the token goes to the app's window.
    package var callback: String?
}

extension Installation {
    /// Returns the app of an API token.
    /// - Throws: `ServiceError` for a token that is none, has expired, or allows no sign-in.
    package func app(ofAPIToken text: String) async throws(ServiceError) -> SignInApp {
        guard let token = try await apiToken(text), token.expiresAt.map({ environment.now() < $0 }) ?? true else {
            throw .invalidAPIToken
        }
        guard token.allowsSignIn else { throw .noSignIn }
        return SignInApp(
            container: token.container, environment: token.environment, name: token.name, callback: token.callback)
    }
}

extension Installation {
    private static let signInPurpose = "signIn"

    /// Returns the text of a request, which is valid for `Limits.signInRequestLifetime`.
    package func signInText(apiToken: String, origin: String?, nonce: String? = nil) -> String? {
        let request = SignInRequest(apiToken: apiToken, origin: origin, issuedAt: environment.now(), nonce: nonce)
        guard let content = try? JSONEncoder().encode(request) else { return nil }
        return AuthenticatedToken([UInt8](content)).text(key, purpose: Self.signInPurpose, context: [])
    }

    /// Returns the query of a `redirectURL`: a request's text, and its nonce for the page that begins the sign-in.
    package func signInQuery(apiToken: String, origin: String?) -> String? {
        let nonce = SecretToken.randomName()
        return signInText(apiToken: apiToken, origin: origin, nonce: nonce).map { "request=\($0)&nonce=\(nonce)" }
    }

    /// Returns the request of a text; nil if the installation did not make the text, or if it has expired.
    package func signInRequest(_ text: String) -> SignInRequest? {
        guard let token = AuthenticatedToken(text, key, purpose: Self.signInPurpose, context: []),
            let request = try? JSONDecoder().decode(SignInRequest.self, from: Data(token.content)),
            (-Limits.clockDifference..<Limits.signInRequestLifetime).contains(environment.now() - request.issuedAt)
        else { return nil }
        return request
    }
}
