import NephosCrypto
import NephosWire

/// The maker of client secrets that are signed (Sign in with Apple, "Creating a client secret"): JSON Web Tokens by ES256,
/// which are made for one request each and last for five minutes.
package struct SignedSecret: Sendable {
    private static let lifetime: Int64 = 5 * 60

    let teamID: String
    let keyID: String
    /// Signs a message by ES256: r and s, 32 bytes each; nil if it cannot be signed.
    let sign: @Sendable ([UInt8]) -> [UInt8]?

    /// - Throws: `invalidArguments` unless both identifiers have ten capital letters and digits.
    package init(
        teamID: String, keyID: String, sign: @escaping @Sendable ([UInt8]) -> [UInt8]?
    ) throws(ServiceError) {
        guard Self.isIdentifier(teamID), Self.isIdentifier(keyID) else {
            throw .invalid("a team's and a key's identifier have ten capital letters and digits each")
        }
        (self.teamID, self.keyID, self.sign) = (teamID, keyID, sign)
    }

    private static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
    }

    /// Returns a new secret; nil if it cannot be signed.
    /// - Parameter now: in milliseconds since 1970.
    func text(clientID: String, audience: String, at now: Int64) -> String? {
        var header = JSONWriter()
        header.beginObject()
        header.member("alg", "ES256")
        header.member("kid", keyID)
        header.endObject()
        var claims = JSONWriter()
        claims.beginObject()
        claims.member("iss", teamID)
        claims.key("iat")
        claims.int64(now / 1000)
        claims.key("exp")
        claims.int64(now / 1000 + Self.lifetime)
        claims.member("aud", audience)
        claims.member("sub", clientID)
        claims.endObject()
        let message = "\(Base64URL.text(of: header.finish())).\(Base64URL.text(of: claims.finish()))"
        return sign(Array(message.utf8)).map { "\(message).\(Base64URL.text(of: $0))" }
    }
}
