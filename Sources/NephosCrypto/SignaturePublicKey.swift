import CDigest

/// The public key of another party's signatures, in one of the algorithms of JSON Web Signatures that are accepted
/// (RFC 7518 §3.1, RFC 8037). None of them has a shared secret.
package struct SignaturePublicKey: Sendable {
    package enum Algorithm: String, Hashable, Sendable, CaseIterable {
        /// RSASSA-PKCS1-v1_5 with SHA-256.
        case rs256 = "RS256"
        /// ECDSA on P-256 with SHA-256. A signature is r and s, 32 bytes each.
        case es256 = "ES256"
        /// Ed25519.
        case edDSA = "EdDSA"
    }

    package let algorithm: Algorithm
    /// The key as SubjectPublicKeyInfo in DER (RFC 5280 §4.1).
    private let encoded: [UInt8]

    /// Creates an RSA key; nil unless the modulus has 2048 to 8192 bits, and the exponent is odd and has at most 32: a
    /// verification is to take no longer than those of usual keys.
    package init?(modulus: [UInt8], exponent: [UInt8]) {
        let (modulus, exponent) = (modulus.drop { $0 == 0 }, exponent.drop { $0 == 0 })
        guard (256...1024).contains(modulus.count), (1...4).contains(exponent.count),
            modulus.last.map(Self.isOdd) == true,
            exponent.last.map(Self.isOdd) == true, exponent != [1]
        else { return nil }
        let key = Self.sequence(Self.integer(modulus) + Self.integer(exponent))
        let bits = Self.element(0x03, [0] + key)
        self.init(.rs256, Self.sequence(Self.rsaEncryption + bits))
    }

    /// Creates a key on the curve P-256; nil unless the point is one of the curve.
    package init?(x: [UInt8], y: [UInt8]) {
        guard x.count == 32, y.count == 32 else { return nil }
        self.init(.es256, Self.p256 + x + y)
    }

    /// Creates a key of Ed25519; nil unless there are 32 bytes.
    package init?(ed25519: [UInt8]) {
        guard ed25519.count == 32 else { return nil }
        self.init(.edDSA, Self.ed25519 + ed25519)
    }

    private init?(_ algorithm: Algorithm, _ encoded: [UInt8]) {
        (self.algorithm, self.encoded) = (algorithm, encoded)
        guard withKey({ _ in true }) == true else { return nil }
    }

    /// Returns whether the key signed the message.
    /// - Parameter signature: the signature as JSON Web Signatures have it.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let signature = algorithm == .es256 ? Self.sequence(ofES256: signature) : signature else { return false }
        return withKey { key in
            guard let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            // Ed25519 hashes by itself.
            let digest = algorithm == .edDSA ? nil : EVP_sha256()
            guard EVP_DigestVerifyInit(context, nil, digest, nil, key) == 1 else { return false }
            return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        } ?? false
    }

    /// Runs `body` with the parsed key; nil if it is none.
    private func withKey<T>(_ body: (OpaquePointer) -> T) -> T? {
        encoded.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            guard let key = d2i_PUBKEY(nil, &next, bytes.count) else { return nil }
            defer { EVP_PKEY_free(key) }
            return body(key)
        }
    }

    // MARK: DER

    /// The algorithm `rsaEncryption` (RFC 3279 §2.3.1).
    private static let rsaEncryption: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]
    /// What precedes the coordinates of a key on P-256 (RFC 5480 §2).
    private static let p256: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE,
        0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]
    /// What precedes a key of Ed25519 (RFC 8410 §4).
    private static let ed25519: [UInt8] = [
        0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00,
    ]

    /// The signature as `ECDSA-Sig-Value`; nil unless it has 64 bytes.
    private static func sequence(ofES256 signature: [UInt8]) -> [UInt8]? {
        guard signature.count == 64 else { return nil }
        return sequence(integer(signature[..<32]) + integer(signature[32...]))
    }

    private static func sequence(_ content: [UInt8]) -> [UInt8] { element(0x30, content) }

    /// - Parameter bytes: a number of 0 or more, big-endian.
    private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let number = bytes.drop { $0 == 0 }
        // A first bit of 1 is a minus.
        let isPadded = number.first.map { $0 >= 0x80 } ?? true
        return element(0x02, (isPadded ? [0] : []) + number)
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let length: [UInt8] =
            switch content.count {
            case 0..<0x80: [UInt8(content.count)]
            case 0x80..<0x100: [0x81, UInt8(content.count)]
            default: [0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)]
            }
        return [tag] + length + content
    }

    private static func isOdd(_ byte: UInt8) -> Bool { byte & 1 == 1 }
}
