import CSodium

/// Content that a service issues as opaque text. The service accepts the text back only if it is unchanged, for the
/// same purpose and in the same context. Only a holder of the key can create, change or read such a text.
///
/// The tag is the keyed BLAKE2b of the purpose, the context and the content. It is also the nonce of the XChaCha20
/// stream that encrypts the content, so that the same content always results in the same text (a synthetic
/// initialization vector, as in RFC 5297).
package struct AuthenticatedToken: Equatable, Sendable {
    package var content: [UInt8]

    /// The size of the tag in bytes, which is the size of an XChaCha20 nonce.
    private static let tagSize = 24

    package init(_ content: [UInt8]) { self.content = content }

    /// Returns the content and its tag in base64url without padding (RFC 4648 §5).
    ///
    /// - Parameters:
    ///   - purpose: the purpose of the token. The token is invalid for any other purpose.
    ///   - context: further data that must be the same when the token is returned. The text does not contain it.
    package func text(_ key: AuthenticationKey, purpose: String, context: [UInt8]) -> String {
        let tag = Self.tag(of: content[...], key, purpose, context)
        return Base64URL.text(of: key.stream(over: content, nonce: tag) + tag)
    }

    /// Nil unless the text was made by `text` with this key, purpose and context.
    package init?(_ text: String, _ key: AuthenticationKey, purpose: String, context: [UInt8]) {
        guard let bytes = Base64URL.bytes(of: text), bytes.count >= Self.tagSize else { return nil }
        let tag = Array(bytes.suffix(Self.tagSize))
        let content = key.stream(over: Array(bytes.dropLast(Self.tagSize)), nonce: tag)
        let expected = Self.tag(of: content[...], key, purpose, context)
        // Compares in constant time, so that the duration does not reveal how many bytes of a tag are right.
        guard sodium_memcmp(tag, expected, Self.tagSize) == 0 else { return nil }
        self.content = content
    }

    /// Returns the tag over the parts. Each part is preceded by its length, so that the boundaries are unambiguous.
    private static func tag(
        of content: ArraySlice<UInt8>, _ key: AuthenticationKey, _ purpose: String, _ context: [UInt8]
    ) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(purpose.utf8.count + context.count + content.count + 16)
        append(purpose.utf8.count, to: &message)
        message += purpose.utf8
        append(context.count, to: &message)
        message += context
        message += content
        return key.tag(of: message, size: tagSize)
    }

    private static func append(_ count: Int, to message: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) {
            message.append(UInt8(truncatingIfNeeded: UInt64(count) >> UInt64(shift)))
        }
    }
}
