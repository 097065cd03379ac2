import NephosCrypto
package import NephosWire

/// The JSON Web Tokens with which a team signs in at Apple's services: signed by ES256, issued by the team.
package enum AppleToken {
    /// Whether a text has the form of a team's or a key's identifier: ten capital letters and digits.
    package static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
    }

    /// Returns a token; nil if it cannot be signed.
    /// - Parameters:
    ///   - seconds: the time of issue, since 1970.
    ///   - sign: signs a message by ES256: r and s, 32 bytes each.
    ///   - writeClaims: writes claims behind the issuer and the time of issue.
    package static func text(
        teamID: String, keyID: String, issuedAt seconds: Int64, sign: ([UInt8]) -> [UInt8]?,
        _ writeClaims: (inout JSONWriter) -> Void = { _ in }
    ) -> String? {
        var header = JSONWriter()
        header.beginObject()
        header.member("alg", "ES256")
        header.member("kid", keyID)
        header.endObject()
        var claims = JSONWriter()
        claims.beginObject()
        claims.member("iss", teamID)
        claims.key("iat")
        claims.int64(seconds)
        writeClaims(&claims)
        claims.endObject()
        let message = "\(Base64URL.text(of: header.finish())).\(Base64URL.text(of: claims.finish()))"
        return sign(Array(message.utf8)).map { "\(message).\(Base64URL.text(of: $0))" }
    }
}
