import CDigest

/// A hash function of libcrypto, which uses the processor's hash instructions (EVP, openssl-evp(7)).
///
/// One thread at a time uses an object of this class.
final class MessageDigest {
    private let context: OpaquePointer
    private let size: Int

    /// - Parameters:
    ///   - type: the result of `EVP_sha1()` or of a similar function.
    ///   - size: the size of the hash in bytes.
    init(_ type: OpaquePointer?, size: Int) {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, type, nil) == 1 else {
            fatalError("libcrypto cannot compute a hash")
        }
        self.context = context
        self.size = size
    }

    deinit { EVP_MD_CTX_free(context) }

    func update(_ bytes: UnsafeRawBufferPointer) { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

    /// Returns the hash of all bytes so far. No bytes may be added afterwards.
    func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            EVP_DigestFinal_ex(context, buffer.baseAddress, nil)
            count = size
        }
    }
}
