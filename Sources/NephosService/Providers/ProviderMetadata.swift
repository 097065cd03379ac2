import FoundationEssentials
import NephosWire

/// What a provider's discovery document says (OpenID Connect Discovery 1.0 §3).
struct ProviderMetadata: Sendable {
    let authorization: ProviderAddress
    let token: ProviderAddress
    let keys: ProviderAddress
    /// Whether the client's secret is sent in the form, and not in the header `Authorization`.
    let takesSecretInForm: Bool
    /// Whether the authorization response names its issuer (RFC 9207 §3).
    let namesIssuer: Bool
    /// Whether the provider's page asks for credentials at `prompt=login` (Initiating User Registration 1.0 §4.1): one that
    /// does not know the value refuses it.
    let asksAtPrompt: Bool

    private struct Document: Decodable {
        var issuer: String
        var authorization: String
        var token: String
        var keys: String
        var secretMethods: [String]?
        var namesIssuer: Bool?
        var prompts: [String]?

        private enum CodingKeys: String, CodingKey {
            case issuer
            case authorization = "authorization_endpoint"
            case token = "token_endpoint"
            case keys = "jwks_uri"
            case secretMethods = "token_endpoint_auth_methods_supported"
            case namesIssuer = "authorization_response_iss_parameter_supported"
            case prompts = "prompt_values_supported"
        }
    }

    /// The URL of the document.
    static func address(of provider: IdentityProvider) -> ProviderAddress? {
        let issuer = provider.issuer.text
        return ProviderAddress(
            "\(issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer)/.well-known/openid-configuration")
    }

    /// - Throws: `ProviderFailure` for a document of another issuer, and for one whose endpoints are not reached by TLS.
    init(decoding body: [UInt8], of provider: IdentityProvider) throws(ProviderFailure) {
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(body)) else {
            throw .refused("the discovery document cannot be read")
        }
        guard document.issuer.hasSameBytes(as: provider.issuer.text) else {
            throw .refused("the discovery document is another issuer's")
        }
        authorization = try Self.endpoint(document.authorization, of: provider)
        token = try Self.endpoint(document.token, of: provider)
        keys = try Self.endpoint(document.keys, of: provider)
        let methods = document.secretMethods ?? ["client_secret_basic"]
        takesSecretInForm = methods.contains("client_secret_post") || !methods.contains("client_secret_basic")
        namesIssuer = document.namesIssuer ?? false
        asksAtPrompt = document.prompts?.contains("login") ?? false
    }

    /// A provider elsewhere leads to no server of this machine without TLS.
    private static func endpoint(_ text: String, of provider: IdentityProvider) throws(ProviderFailure)
        -> ProviderAddress
    {
        guard let address = ProviderAddress(text), address.isSecure || !provider.issuer.isSecure else {
            throw .refused("an endpoint of the discovery document is no https URL")
        }
        return address
    }
}
