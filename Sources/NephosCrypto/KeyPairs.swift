import CSodium

/// A pair of Ed25519 keys: the secret key signs, the public key verifies.
package struct SigningKeyPair: Hashable, Sendable {
    /// The public key, 32 bytes.
    package let publicKey: [UInt8]
    /// The 32 bytes from which the key pair is derived.
    package let seed: [UInt8]
    private let secretKey: [UInt8]

    package static let publicKeySize = 32
    package static let signatureSize = 64

    package static func random() -> SigningKeyPair {
        guard let pair = SigningKeyPair(seed: RandomBytes.make(32)) else { preconditionFailure("A seed has 32 bytes.") }
        return pair
    }

    /// Nil unless the seed has 32 bytes.
    package init?(seed: [UInt8]) {
        guard seed.count == 32 else { return nil }
        Sodium.isReady
        var publicKey = [UInt8](repeating: 0, count: Self.publicKeySize)
        var secretKey = [UInt8](repeating: 0, count: 64)
        crypto_sign_seed_keypair(&publicKey, &secretKey, seed)
        self.seed = seed
        self.publicKey = publicKey
        self.secretKey = secretKey
    }

    package func signature(of message: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: Self.signatureSize)
        crypto_sign_detached(&signature, nil, message, UInt64(message.count), secretKey)
        return signature
    }

    /// Whether the holder of the secret key for `publicKey` made the signature of this message.
    package static func isValid(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
        guard signature.count == signatureSize, publicKey.count == publicKeySize else { return false }
        Sodium.isReady
        return crypto_sign_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
    }
}

/// A pair of X25519 keys: only the secret key opens a box sealed with the public key (`crypto_box_seal`, libsodium). A
/// box does not identify its sender.
package struct BoxKeyPair: Hashable, Sendable {
    /// The public key, 32 bytes.
    package let publicKey: [UInt8]
    /// The secret key, 32 bytes.
    package let secretKey: [UInt8]

    package static let publicKeySize = 32
    /// The number of bytes by which a box exceeds its content.
    package static let overhead = 48

    package static func random() -> BoxKeyPair {
        guard let pair = BoxKeyPair(secretKey: RandomBytes.make(32)) else {
            preconditionFailure("A secret key has 32 bytes.")
        }
        return pair
    }

    /// Nil unless the secret key has 32 bytes.
    package init?(secretKey: [UInt8]) {
        guard secretKey.count == 32 else { return nil }
        Sodium.isReady
        var publicKey = [UInt8](repeating: 0, count: Self.publicKeySize)
        crypto_scalarmult_base(&publicKey, secretKey)
        self.publicKey = publicKey
        self.secretKey = secretKey
    }

    /// Returns the content in a box for `publicKey`; nil if that key is invalid.
    package static func seal(_ content: [UInt8], for publicKey: [UInt8]) -> [UInt8]? {
        guard publicKey.count == publicKeySize else { return nil }
        Sodium.isReady
        var box = [UInt8](repeating: 0, count: content.count + overhead)
        return crypto_box_seal(&box, content, UInt64(content.count), publicKey) == 0 ? box : nil
    }

    /// Returns the content of a box that was sealed for this pair; nil for any other bytes.
    package func open(_ box: [UInt8]) -> [UInt8]? {
        guard box.count >= Self.overhead else { return nil }
        var content = [UInt8](repeating: 0, count: box.count - Self.overhead)
        return crypto_box_seal_open(&content, box, UInt64(box.count), publicKey, secretKey) == 0 ? content : nil
    }
}

/// The BLAKE2b-256 hash of content.
package enum ContentHash {
    package static func of(_ bytes: [UInt8]) -> [UInt8] {
        let hash = StreamingHash(.blake2b)
        hash.update(bytes)
        return hash.finish()
    }
}
