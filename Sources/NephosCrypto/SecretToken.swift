/// A random secret that signs its bearer in, as opaque text. The service keeps the hash alone, so that neither a database
/// nor a backup signs anybody in.
///
/// The text has random bytes besides the secret: each text of a secret differs, and all of them are equally valid.
package struct SecretToken: Sendable {
    private static let version: UInt8 = 1
    private static let (secretSize, saltSize) = (32, 16)

    private let secret: [UInt8]

    /// Makes a new secret.
    package init() { secret = RandomBytes.make(Self.secretSize) }

    /// Nil unless the text has the form of a token.
    package init?(_ text: String) {
        guard let bytes = Base64URL.bytes(of: text), bytes.first == Self.version,
            bytes.count == 1 + Self.secretSize + Self.saltSize
        else { return nil }
        secret = Array(bytes[1...Self.secretSize])
    }

    /// Returns a new text of the secret: 66 characters of base64url.
    package func text() -> String {
        Base64URL.text(of: [Self.version] + secret + RandomBytes.make(Self.saltSize))
    }

    /// The SHA-256 of the secret in hexadecimal digits.
    package var hash: String { Self.hash(of: secret) }

    /// The SHA-256 of a text in hexadecimal digits.
    package static func hash(of text: String) -> String { hash(of: Array(text.utf8)) }

    private static func hash(of bytes: [UInt8]) -> String {
        let hash = StreamingHash(.sha256)
        bytes.withUnsafeBytes { hash.update($0) }
        return Hexadecimal.text(hash.finish())
    }

    /// Returns a random text of 64 hexadecimal digits, for names that are no secrets.
    package static func randomName() -> String {
        Hexadecimal.text(RandomBytes.make(32))
    }
}
