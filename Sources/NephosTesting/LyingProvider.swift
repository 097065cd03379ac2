import Foundation
import NephosCrypto
import Synchronization

/// An OpenID Connect provider that answers as the protocol says, or tells one lie. It signs with keys of its own, checks
/// the client's secret and the proof of the code, and gives an ID token for a code once.
package final class LyingProvider: Sendable {
    package enum Lie: Hashable, Sendable, CaseIterable {
        case otherIssuer, otherAudience, severalAudiences, otherParty, expired, ofTheFuture, notYetValid
        case unsigned, signedByPublicKey, signedByOtherKey, signedByUnknownKey, algorithmOfOtherKey, changedPayload
        case critical, otherNonce, noNonce, noSubject, longSubject, noExpiry, noToken
        case otherIssuersDocument, plainEndpoint, redirectedToken, redirectedDocument, longToken, longKeys, failure,
            failingToken, refusingClient
    }

    /// What the provider does, and says in `auth_time`, where it is to ask for credentials.
    package enum Reauthentication: Hashable, Sendable, CaseIterable {
        case asks, saysNothing, goesOn, isOfTheFuture, saysText
    }

    /// Who signs in at the provider.
    package struct Person: Hashable, Sendable {
        package var subject: String
        package var address: String?
        /// The claim `email_verified`; nil without it.
        package var isVerified: Bool?
        package var name: String?

        package init(_ subject: String, _ address: String? = nil, isVerified: Bool? = nil, name: String? = nil) {
            (self.subject, self.address, self.isVerified, self.name) = (subject, address, isVerified, name)
        }
    }

    /// The answer through the browser.
    package typealias Response = [String: String]
    package typealias Answer = (status: Int, body: [UInt8])

    private struct State {
        var lie: Lie?
        var reauthentication = Reauthentication.asks
        var codes: [String: (query: [String: String], person: Person)] = [:]
        var secrets: [String] = []
        var counts: [String: Int] = [:]
        var keys: [TestSigningKey]
    }

    package let issuer: String
    package let clientID: String
    package let secret: String
    /// Whether it acts like Apple: the secret is signed and in the form, and `email_verified` is a text.
    package let isLikeApple: Bool
    /// Whether it names itself in its answers through the browser, and announces that.
    package let namesItself: Bool
    private let kind: TestSigningKey.Kind
    private let now: @Sendable () -> Int64
    private let state: Mutex<State>

    /// - Parameter now: the time in milliseconds since 1970.
    package init(
        issuer: String, clientID: String = "client", secret: String = "a+secret of:signs",
        kind: TestSigningKey.Kind = .rsa,
        isLikeApple: Bool = false, namesItself: Bool = false, now: @escaping @Sendable () -> Int64
    ) throws {
        (self.issuer, self.clientID, self.secret, self.now) = (issuer, clientID, secret, now)
        (self.isLikeApple, self.namesItself) = (isLikeApple, namesItself)
        self.kind = kind
        state = Mutex(State(keys: [try TestSigningKey(kind, id: "first")]))
    }

    package var lie: Lie? {
        get { state.withLock { $0.lie } }
        set { state.withLock { $0.lie = newValue } }
    }

    package var reauthentication: Reauthentication {
        get { state.withLock { $0.reauthentication } }
        set { state.withLock { $0.reauthentication = newValue } }
    }

    /// The client secrets that were sent.
    package var secrets: [String] { state.withLock { $0.secrets } }

    /// How often a document was asked for.
    package func count(_ path: String) -> Int { state.withLock { $0.counts[path] ?? 0 } }

    /// Signs with a new key from now on.
    package func changeKey(id: String) throws {
        let key = try TestSigningKey(kind, id: id)
        state.withLock { $0.keys = [key] }
    }

    // MARK: The provider's page

    /// What the provider's page sends back, once the person agreed.
    package func authorize(_ url: String, as person: Person) -> Response {
        let query = Self.fields(url.drop { $0 != "?" }.dropFirst())
        let code = "code+\(UUID().uuidString)/="
        state.withLock { $0.codes[code] = (query, person) }
        var response = ["code": code, "state": query["state"] ?? ""]
        if namesItself { response["iss"] = issuer }
        if isLikeApple, let name = person.name {
            response["user"] = #"{"name":{"firstName":"\#(name)","lastName":"Lovelace"},"email":"eve@example.org"}"#
        }
        return response
    }

    // MARK: Requests of the server

    /// - Parameters:
    ///   - form: the body of a POST; nil for a GET.
    ///   - authorization: the header; nil without it.
    package func answer(_ url: String, form: String?, authorization: String?) -> Answer {
        let path = String(url.dropFirst(issuer.utf8.count))
        state.withLock { $0.counts[path, default: 0] += 1 }
        if lie == .failure { return (503, []) }
        switch (path, form) {
        case ("/.well-known/openid-configuration", nil):
            return lie == .redirectedDocument ? (302, []) : Self.json(document)
        case ("/keys", nil):
            let padding = lie == .longKeys ? String(repeating: "x", count: 2 << 20) : ""
            return Self.json(["keys": state.withLock { $0.keys.map(\.publicKey) }, "padding": padding])
        case ("/token", let form?): return token(Self.fields(form[...]), authorization)
        default: return (404, [])
        }
    }

    private var document: [String: Any] {
        [
            "issuer": lie == .otherIssuersDocument ? "https://other.example.org" : issuer,
            "authorization_endpoint": "\(issuer)/authorize?tenant=1",
            "token_endpoint": lie == .plainEndpoint ? "http://127.0.0.1.example.org/token" : "\(issuer)/token",
            "jwks_uri": "\(issuer)/keys",
            "token_endpoint_auth_methods_supported": [isLikeApple ? "client_secret_post" : "client_secret_basic"],
            "authorization_response_iss_parameter_supported": namesItself,
            "prompt_values_supported": isLikeApple ? [] : ["none", "login"],
        ]
    }

    private func token(_ form: [String: String], _ authorization: String?) -> Answer {
        guard form["grant_type"] == "authorization_code", let code = form["code"],
            let (query, person) = state.withLock({ $0.codes.removeValue(forKey: code) }), isClient(form, authorization),
            query["client_id"] == clientID, query["redirect_uri"] == form["redirect_uri"],
            query["code_challenge_method"] == "S256", let verifier = form["code_verifier"],
            (try? OpenSSL.run(["dgst", "-sha256", "-binary"], input: Data(verifier.utf8)))?.base64URL
                == query["code_challenge"]
        else { return (400, Array(#"{"error":"invalid_grant"}"#.utf8)) }
        switch lie {
        case .redirectedToken: return (307, [])
        case .failingToken: return (502, [])
        case .refusingClient: return (401, Array(#"{"error":"invalid_client"}"#.utf8))
        case .noToken: return Self.json(["access_token": "x"])
        case .longToken: return Self.json(["id_token": String(repeating: "x", count: 2 << 20)])
        default:
            guard let text = try? idToken(person, query) else { return (500, []) }
            return Self.json(["access_token": "x", "token_type": "Bearer", "id_token": text])
        }
    }

    private func isClient(_ form: [String: String], _ authorization: String?) -> Bool {
        if isLikeApple {
            state.withLock { $0.secrets.append(form["client_secret"] ?? "") }
            return authorization == nil && form["client_id"] == clientID && form["client_secret"] != nil
        }
        guard let authorization, authorization.hasPrefix("Basic "), form["client_secret"] == nil,
            let pair = Data(base64Encoded: String(authorization.dropFirst(6)))
        else { return false }
        let parts = String(decoding: pair, as: UTF8.self).split(separator: ":").map {
            String($0).removingPercentEncoding
        }
        return parts == [clientID, secret]
    }

    // MARK: ID tokens

    private func idToken(_ person: Person, _ query: [String: String]) throws -> String {
        var claims = claims(person, query["nonce"] ?? "")
        if query["max_age"] == "0", !isLikeApple { claims["auth_time"] = authenticationTime }
        let key = state.withLock { $0.keys[0] }
        var header: [String: Any] = ["alg": key.kind.rawValue, "kid": key.id, "typ": "JWT"]
        switch lie {
        case .unsigned: header["alg"] = "none"
        case .signedByPublicKey: header["alg"] = "HS256"
        case .signedByUnknownKey: header["kid"] = "unknown"
        case .algorithmOfOtherKey: header["alg"] = key.kind == .rsa ? "ES256" : "RS256"
        case .critical: (header["crit"], header["exp"]) = (["exp"], 1)
        default: break
        }
        let message = try "\(Self.part(header)).\(Self.part(claims))"
        let signer = lie == .signedByOtherKey ? try TestSigningKey(kind, id: "first") : key
        var signature = try signer.sign(Data(message.utf8))
        switch lie {
        case .unsigned: signature = Data()
        case .signedByPublicKey:
            let hexadecimal = Hexadecimal.text(try key.publicPEM())
            signature = try OpenSSL.run(
                ["dgst", "-sha256", "-mac", "HMAC", "-macopt", "hexkey:\(hexadecimal)", "-binary"],
                input: Data(message.utf8))
        case .changedPayload:
            claims["sub"] = "another"
            return try "\(Self.part(header)).\(Self.part(claims)).\(signature.base64URL)"
        default: break
        }
        return "\(message).\(signature.base64URL)"
    }

    /// The claim `auth_time` of a person who was asked for their credentials.
    private var authenticationTime: Any? {
        let seconds = now() / 1000
        return switch reauthentication {
        case .asks: seconds
        case .saysNothing: nil
        case .goesOn: seconds - 901
        case .isOfTheFuture: seconds + 61
        case .saysText: "\(seconds)"
        }
    }

    private func claims(_ person: Person, _ nonce: String) -> [String: Any] {
        let seconds = now() / 1000
        var claims: [String: Any] = [
            "iss": issuer, "aud": clientID, "sub": person.subject, "iat": seconds, "exp": seconds + 300, "nonce": nonce,
        ]
        claims["email"] = person.address
        claims["email_verified"] = person.isVerified.map { isLikeApple ? "\($0)" as Any : $0 as Any }
        if !isLikeApple { claims["name"] = person.name }
        switch lie {
        case .otherIssuer: claims["iss"] = "\(issuer)/"
        case .otherAudience: claims["aud"] = "another"
        case .severalAudiences: claims["aud"] = [clientID, "another"]
        case .otherParty: claims["azp"] = "another"
        case .expired: claims["exp"] = seconds - 61
        case .ofTheFuture: claims["iat"] = seconds + 61
        case .notYetValid: claims["nbf"] = seconds + 61
        case .otherNonce: claims["nonce"] = String(nonce.reversed())
        case .noNonce: claims["nonce"] = nil
        case .noSubject: claims["sub"] = ""
        case .longSubject: claims["sub"] = String(repeating: "s", count: 256)
        case .noExpiry: claims["exp"] = nil
        default: break
        }
        return claims
    }

    // MARK: Text

    private static func part(_ object: [String: Any]) throws -> String {
        try JSONSerialization.data(withJSONObject: object).base64URL
    }

    private static func json(_ object: [String: Any]) -> Answer {
        (200, [UInt8]((try? JSONSerialization.data(withJSONObject: object)) ?? Data()))
    }

    private static func fields(_ text: Substring) -> [String: String] {
        var fields: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { fields[String(parts[0])] = String(parts[1]).removingPercentEncoding }
        }
        return fields
    }
}
