import FoundationEssentials
import NephosCrypto

/// The content of a `redirectURL`: the app that asks people to sign in (CloudKit Web Services, redirect flow).
package struct SignInRequest: Codable, Hashable, Sendable {
    package var apiToken: String
    /// The origin of the app's page; nil for a program.
    package var origin: String?
    var issuedAt: Int64
}

extension Installation {
    private static let signInPurpose = "signIn"

    /// Returns the text of a request, which is valid for `Limits.signInRequestLifetime`.
    package func signInText(apiToken: String, origin: String?) -> String? {
        let request = SignInRequest(apiToken: apiToken, origin: origin, issuedAt: environment.now())
        guard let content = try? JSONEncoder().encode(request) else { return nil }
        return AuthenticatedToken([UInt8](content)).text(key, purpose: Self.signInPurpose, context: [])
    }

    /// Returns the request of a text; nil if the installation did not make the text, or if it has expired.
    package func signInRequest(_ text: String) -> SignInRequest? {
        guard let token = AuthenticatedToken(text, key, purpose: Self.signInPurpose, context: []),
            let request = try? JSONDecoder().decode(SignInRequest.self, from: Data(token.content)),
            environment.now() - request.issuedAt < Limits.signInRequestLifetime
        else { return nil }
        return request
    }
}
