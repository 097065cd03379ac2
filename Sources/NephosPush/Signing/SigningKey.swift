import COpenSSL
import FoundationEssentials
import Synchronization

/// A private key on the curve P-256. Apple issues it for its push service as a `.p8` file (PKCS #8 in PEM format).
package final class SigningKey: @unchecked Sendable {
    // `@unchecked`: after its creation, OpenSSL only reads the key, which several threads may do. Each signature has a
    // context of its own.
    private let key: OpaquePointer

    /// - Throws: `NotificationSetupError` if the file cannot be read, or does not contain such a key.
    package convenience init(file: String) throws(NotificationSetupError) {
        let pem: Data
        do {
            pem = try Data(contentsOf: URL(filePath: file))
        } catch {
            throw NotificationSetupError("the key '\(file)' cannot be read")
        }
        guard let key = SigningKey(pem: Array(pem)) else {
            throw NotificationSetupError(
                "'\(file)' holds no private key on the curve P-256 in PEM, as the .p8 files of Apple's developer site do"
            )
        }
        self.init(key.retained())
    }

    /// Nil unless the bytes are a P-256 private key without a password.
    package convenience init?(pem: [UInt8]) {
        let key = pem.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(source) }
            // Without this callback, OpenSSL would prompt for a password on the terminal.
            return PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in 0 }, nil)
        }
        ERR_clear_error()
        guard let key else { return nil }
        var name = [CChar](repeating: 0, count: 64)
        guard EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1,
            String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) == "prime256v1"
        else {
            ERR_clear_error()
            EVP_PKEY_free(key)
            return nil
        }
        self.init(key)
    }

    /// Takes ownership of the OpenSSL key.
    private init(_ key: OpaquePointer) {
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    private func retained() -> OpaquePointer {
        EVP_PKEY_up_ref(key)
        return key
    }

    /// Returns the ECDSA signature with SHA-256 in the form of JSON Web Signatures (ES256; RFC 7518 §3.4): r and s, 32
    /// bytes each. Nil if OpenSSL lacks memory or randomness.
    package func sign(_ message: [UInt8]) -> [UInt8]? {
        defer { ERR_clear_error() }
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1 else { return nil }
        var encoded = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
        var count = encoded.count
        guard EVP_DigestSign(context, &encoded, &count, message, message.count) == 1 else { return nil }
        return encoded.withUnsafeBufferPointer { Self.fixedSize($0, count) }
    }

    /// Converts a signature of `count` bytes from OpenSSL's form, a DER sequence of two integers, to two numbers of 32
    /// bytes each; nil if it cannot be converted.
    private static func fixedSize(_ encoded: UnsafeBufferPointer<UInt8>, _ count: Int) -> [UInt8]? {
        var start = encoded.baseAddress
        guard let signature = d2i_ECDSA_SIG(nil, &start, count) else { return nil }
        defer { ECDSA_SIG_free(signature) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let isWhole = bytes.withUnsafeMutableBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return false }
            return BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + 32, 32) == 32
        }
        return isWhole ? bytes : nil
    }
}
