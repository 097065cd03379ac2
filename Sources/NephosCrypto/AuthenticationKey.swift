import CSodium

/// A secret with which a service authenticates its own tokens.
package struct AuthenticationKey: Hashable, Sendable {
    /// The size of a key in bytes: the recommended size for keyed BLAKE2b (`crypto_generichash_KEYBYTES`, libsodium).
    package static let size = 32

    package let bytes: [UInt8]
    /// The key of the stream that encrypts tokens, which is derived from this key.
    private let streamKey: [UInt8]

    /// Nil unless there are exactly `size` bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.init(unchecked: bytes)
    }

    /// Returns a new random key.
    package static func random() -> AuthenticationKey { AuthenticationKey(unchecked: RandomBytes.make(size)) }

    private init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
        streamKey = Self.tag(of: Array("nephos stream".utf8), size: Self.size, bytes)
    }

    /// Encrypts or decrypts content with an XChaCha20 stream.
    func stream(over content: [UInt8], nonce: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: content.count)
        // The call never fails.
        crypto_stream_xchacha20_xor(&result, content, UInt64(content.count), nonce, streamKey)
        return result
    }

    /// Returns the keyed BLAKE2b hash of a message.
    func tag(of message: [UInt8], size: Int) -> [UInt8] { Self.tag(of: message, size: size, bytes) }

    private static func tag(of message: [UInt8], size: Int, _ bytes: [UInt8]) -> [UInt8] {
        Sodium.isReady
        var tag = [UInt8](repeating: 0, count: size)
        // The call fails only for a size outside of 16 to 64 bytes.
        let status = crypto_generichash(&tag, size, message, UInt64(message.count), bytes, bytes.count)
        precondition(status == 0, "BLAKE2b makes tags of 16 to 64 bytes.")
        return tag
    }
}
