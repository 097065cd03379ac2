import CDigest
import FoundationEssentials

/// The checksum by which clients of CloudKit Web Services know a file (`fileChecksum`): base64 of 1 and the SHA-1 of a
/// fixed text and the file's bytes.
///
/// SHA-1 can be made to collide, so it finds mistakes, and is neither a key nor a proof of anything. One thread at a time
/// uses it.
package final class FileChecksum {
    private static let salt = Array("com.apple.XattrObjectSalt\0com.apple.DataObjectSalt\0".utf8)

    private let context: OpaquePointer

    package init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha1(), nil) == 1 else {
            fatalError("libcrypto cannot compute SHA-1")
        }
        self.context = context
        update(Self.salt)
    }

    deinit { EVP_MD_CTX_free(context) }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    }

    package func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    /// The checksum of everything so far. Nothing may be added after it.
    package func finish() -> String {
        let digest = [UInt8](unsafeUninitializedCapacity: 20) { buffer, count in
            EVP_DigestFinal_ex(context, buffer.baseAddress, nil)
            count = 20
        }
        return Data([1] + digest).base64EncodedString()
    }
}
