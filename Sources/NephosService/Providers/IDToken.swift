import FoundationEssentials
import NephosWire

/// A person as a provider knows them.
struct ProvidedIdentity: Hashable, Sendable {
    var issuer: String
    /// The person's identifier at the issuer, which is never another's.
    var subject: String
    /// The e-mail address, as the provider writes it; nil without one that the provider has verified.
    var verifiedAddress: String?
    /// A name for people; nil without one. Nothing vouches for it.
    var name: String?
    /// The time in milliseconds since 1970 at which the provider last asked the person for their credentials; nil if it
    /// does not say.
    var authenticatedAt: Int64?
}

/// The claims of an ID token (OpenID Connect Core 1.0 §2), and their rules:
///
/// - `iss` is the provider's issuer, byte by byte;
/// - `aud` has the client's ID, and `azp` is the client's ID, which is there if `aud` has others;
/// - `exp`, `iat` and `nbf` hold now, give or take 60 seconds;
/// - `nonce` is that of the sign-in;
/// - `sub` has 1 to 255 bytes.
struct IDToken: Sendable {
    private let claims: Claims

    /// - Parameter payload: the content of a token whose signature was verified.
    init(_ payload: [UInt8]) throws(ProviderFailure) {
        guard let claims = try? JSONDecoder().decode(Claims.self, from: Data(payload)) else {
            throw .refused("the ID token lacks a claim")
        }
        self.claims = claims
    }

    /// Checks the rules.
    /// - Parameter now: in milliseconds since 1970.
    /// - Throws: `ProviderFailure` with the first rule that the token breaks.
    func identity(
        of provider: IdentityProvider, nonce: String, at now: Int64
    ) throws(ProviderFailure) -> ProvidedIdentity {
        guard claims.iss.hasSameBytes(as: provider.issuer.text) else {
            throw .refused("the ID token is another issuer's")
        }
        guard claims.aud.values.contains(where: { $0.hasSameBytes(as: provider.clientID) }),
            claims.azp.map({ $0.hasSameBytes(as: provider.clientID) }) ?? (claims.aud.values.count == 1)
        else { throw .refused("the ID token is for another client") }
        let (seconds, tolerance) = (Double(now) / 1000, 60.0)
        guard claims.exp > seconds - tolerance else { throw .refused("the ID token has expired") }
        guard claims.iat < seconds + tolerance, (claims.nbf ?? 0) < seconds + tolerance else {
            throw .refused("the ID token is of the future")
        }
        guard claims.nonce?.hasSameBytes(as: nonce) == true else { throw .refused("the ID token is another sign-in's") }
        guard (1...255).contains(claims.sub.utf8.count) else { throw .refused("the ID token names nobody") }
        return ProvidedIdentity(
            issuer: claims.iss, subject: claims.sub, verifiedAddress: claims.isVerified ? claims.email : nil,
            name: claims.name, authenticatedAt: claims.authenticatedAt(at: now))
    }

    private struct Claims: Decodable {
        var iss: String
        var sub: String
        var aud: Audience
        var azp: String?
        var exp: Double
        var iat: Double
        var nbf: Double?
        var nonce: String?
        var email: String?
        var isVerified: Bool
        var name: String?
        private var authenticationTime: Double?

        private enum Key: String, CodingKey {
            case iss, sub, aud, azp, exp, iat, nbf, nonce, email, name
            case authenticationTime = "auth_time"
            case isVerified = "email_verified"
            case userName = "preferred_username"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            iss = try container.decode(String.self, forKey: .iss)
            sub = try container.decode(String.self, forKey: .sub)
            aud = try container.decode(Audience.self, forKey: .aud)
            azp = try container.decodeIfPresent(String.self, forKey: .azp)
            exp = try container.decode(Double.self, forKey: .exp)
            iat = try container.decode(Double.self, forKey: .iat)
            nbf = try container.decodeIfPresent(Double.self, forKey: .nbf)
            nonce = try container.decodeIfPresent(String.self, forKey: .nonce)
            // What does not decide who it is may be missing, or of another type.
            email = try? container.decode(String.self, forKey: .email)
            let flag = try? container.decode(Bool.self, forKey: .isVerified)
            // Apple writes the flag as a text, too (Sign in with Apple, identity token).
            isVerified = flag ?? ((try? container.decode(String.self, forKey: .isVerified)) == "true")
            name =
                (try? container.decode(String.self, forKey: .name))
                ?? (try? container.decode(String.self, forKey: .userName))
            authenticationTime = try? container.decode(Double.self, forKey: .authenticationTime)
        }

        /// The time in milliseconds of `auth_time`; nil without one, and for one that is no time of the past, give or take
        /// 60 seconds.
        func authenticatedAt(at now: Int64) -> Int64? {
            guard let time = authenticationTime, (0..<Double(now) / 1000 + 60).contains(time) else { return nil }
            return min(Int64(time * 1000), now)
        }
    }

    /// One client's ID, or several.
    private struct Audience: Decodable {
        var values: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(String.self) {
                values = [value]
            } else {
                values = try container.decode([String].self)
            }
        }
    }
}
