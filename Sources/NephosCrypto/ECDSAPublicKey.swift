import CDigest

/// A public key of ECDSA on the curve P-256 (FIPS 186-5), as servers sign requests with (CloudKit Web Services,
/// server-to-server keys).
package struct ECDSAPublicKey: Sendable {
    /// The longest text of a key: that of a P-256 key has some 180 bytes.
    package static let longestText = 4096

    private let pem: [UInt8]

    /// Nil unless the text is one public key of P-256 in PEM (`BEGIN PUBLIC KEY`).
    package init?(_ text: String) {
        pem = Array(text.utf8)
        guard pem.count <= Self.longestText, withKey({ _ in true }) == true else { return nil }
    }

    /// Returns whether the key signed the message, with SHA-256.
    /// - Parameter signature: the signature in DER (`ECDSA-Sig-Value`, RFC 3279 §2.2.3).
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        withKey { key in
            guard let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
            return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        } ?? false
    }

    /// Returns whether the keys are the same point, compressed or not.
    package func isSameKey(as other: ECDSAPublicKey) -> Bool {
        withKey { key in other.withKey { EVP_PKEY_eq(key, $0) == 1 } ?? false } ?? false
    }

    /// Returns the number r of a signature, big-endian without leading zeros; nil if the bytes are no signature. From one
    /// signature anybody can make another with the same r, but none with another r.
    package static func r(of signature: [UInt8]) -> [UInt8]? {
        signature.withUnsafeBufferPointer { bytes -> [UInt8]? in
            var next = bytes.baseAddress
            guard let value = d2i_ECDSA_SIG(nil, &next, bytes.count) else { return nil }
            defer { ECDSA_SIG_free(value) }
            let number = ECDSA_SIG_get0_r(value)
            let size = Int(BN_num_bits(number) + 7) / 8
            return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                count = Int(BN_bn2bin(number, buffer.baseAddress))
            }
        }
    }

    /// Runs `body` with the parsed key; nil if the text is no key of P-256.
    private func withKey<T>(_ body: (OpaquePointer) -> T) -> T? {
        pem.withUnsafeBytes { withKey(in: $0, body) }
    }

    private func withKey<T>(in pem: UnsafeRawBufferPointer, _ body: (OpaquePointer) -> T) -> T? {
        guard let source = BIO_new_mem_buf(pem.baseAddress, Int32(pem.count)) else { return nil }
        defer { BIO_free(source) }
        guard let key = PEM_read_bio_PUBKEY(source, nil, { _, _, _, _ in 0 }, nil) else { return nil }
        defer { EVP_PKEY_free(key) }
        var name = [CChar](repeating: 0, count: 64)
        guard EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1,
            String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) == "prime256v1"
        else { return nil }
        return body(key)
    }
}
