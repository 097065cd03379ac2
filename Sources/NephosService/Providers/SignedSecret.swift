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
        guard AppleToken.isIdentifier(teamID), AppleToken.isIdentifier(keyID) else {
            throw .invalid("a team's and a key's identifier have ten capital letters and digits each")
        }
        (self.teamID, self.keyID, self.sign) = (teamID, keyID, sign)
    }

    /// Returns a new secret; nil if it cannot be signed.
    /// - Parameter now: in milliseconds since 1970.
    func text(clientID: String, audience: String, at now: Int64) -> String? {
        let seconds = now / 1000
        return AppleToken.text(teamID: teamID, keyID: keyID, issuedAt: seconds, sign: sign) { claims in
            claims.key("exp")
            claims.int64(seconds + Self.lifetime)
            claims.member("aud", audience)
            claims.member("sub", clientID)
        }
    }
}
