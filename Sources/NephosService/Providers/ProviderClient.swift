import FoundationEssentials
import NephosWire

/// The requests to one identity provider: for its documents, and for the ID token of a code.
struct ProviderClient: Sendable {
    let provider: IdentityProvider
    private let outlet: ProviderOutlet
    private let now: @Sendable () -> Int64
    private let metadataCache: ProviderCache<ProviderMetadata>
    private let keys: ProviderCache<ProviderKeys>

    init(_ provider: IdentityProvider, _ outlet: ProviderOutlet, now: @escaping @Sendable () -> Int64) {
        (self.provider, self.outlet, self.now) = (provider, outlet, now)
        let metadata = ProviderCache(now: now) { () async throws(ProviderFailure) in
            guard let address = ProviderMetadata.address(of: provider) else {
                throw ProviderFailure.refused("the issuer has no discovery document")
            }
            return try ProviderMetadata(decoding: try await Self.get(address, provider, outlet), of: provider)
        }
        metadataCache = metadata
        keys = ProviderCache(now: now) { () async throws(ProviderFailure) in
            let address = try await metadata.value().keys
            return try ProviderKeys(decoding: try await Self.get(address, provider, outlet))
        }
    }

    /// What the provider's discovery document says.
    func metadata() async throws(ProviderFailure) -> ProviderMetadata { try await metadataCache.value() }

    private static func get(
        _ address: ProviderAddress, _ provider: IdentityProvider, _ outlet: ProviderOutlet
    ) async throws(ProviderFailure) -> [UInt8] {
        try checked(try await outlet.send(ProviderRequest(address, certificates: provider.certificates)))
    }

    /// - Throws: `ProviderFailure` for any status but 200, also for a redirect, and for too long an answer.
    private static func checked(_ answer: (status: Int, body: [UInt8])) throws(ProviderFailure) -> [UInt8] {
        switch answer.status {
        case 200: break
        // The provider refuses this server, whose secret has expired: not the fault of who signs in.
        case 401: throw .unreachable("the provider answered 401: is the client's secret the present one?")
        case 500...599, 429: throw .unreachable("the provider answered \(answer.status)")
        default: throw .refused("the provider answered \(answer.status)")
        }
        guard answer.body.count <= Limits.providerAnswerSize else {
            throw .refused("the provider's answer is too long")
        }
        return answer.body
    }

    // MARK: Codes

    /// Returns the identity that a code stands for.
    func identity(
        _ code: String, verifier: String, nonce: String, redirectURL: String
    ) async throws(ProviderFailure) -> ProvidedIdentity {
        let signature = try JSONWebSignature(try await idToken(code, verifier: verifier, redirectURL: redirectURL))
        // A provider may have changed a key under its name.
        let isSigned = { @Sendable (known: ProviderKeys) in signature.isSigned(byOneOf: known.keys(for: signature)) }
        guard isSigned(try await keys.value(isSigned)) else {
            throw .refused("the ID token is not signed by a key of the provider")
        }
        return try IDToken(signature.payload).identity(of: provider, nonce: nonce, at: now())
    }

    private struct TokenAnswer: Decodable {
        var idToken: String

        private enum CodingKeys: String, CodingKey { case idToken = "id_token" }
    }

    /// Exchanges a code for its ID token. The access token is not used.
    private func idToken(
        _ code: String, verifier: String, redirectURL: String
    ) async throws(ProviderFailure) -> String {
        let metadata = try await metadata()
        var request = ProviderRequest(metadata.token, form: "", certificates: provider.certificates)
        var fields = [
            (name: "grant_type", value: "authorization_code"), ("code", code), ("redirect_uri", redirectURL),
            ("code_verifier", verifier),
        ]
        let secret = try secret()
        if metadata.takesSecretInForm {
            fields += [("client_id", provider.clientID), ("client_secret", secret)]
        } else {
            // Both are escaped before (RFC 6749 §2.3.1).
            let pair = "\(PercentEncoding.escaped(provider.clientID)):\(PercentEncoding.escaped(secret))"
            request.authorization = "Basic \(Data(pair.utf8).base64EncodedString())"
        }
        request.form = FormEncoding.text(fields)
        let body = try Self.checked(try await outlet.send(request))
        guard let answer = try? JSONDecoder().decode(TokenAnswer.self, from: Data(body)) else {
            throw .refused("the provider's answer has no ID token")
        }
        return answer.idToken
    }

    private func secret() throws(ProviderFailure) -> String {
        switch provider.secret {
        case .text(let text): return text
        case .signed(let signed):
            guard let text = signed.text(clientID: provider.clientID, audience: provider.issuer.text, at: now()) else {
                throw .refused("the client's secret cannot be signed")
            }
            return text
        }
    }
}
