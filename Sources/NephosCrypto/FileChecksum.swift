import CDigest
import FoundationEssentials

/// The checksum of a file for clients of CloudKit Web Services (`fileChecksum`): base64 of 1 and the SHA-1 of a fixed
/// text and the file's bytes.
///
/// SHA-1 is not collision-resistant, so the checksum detects mistakes only, and is neither a key nor a proof. One
/// thread at a time uses it.
package final class FileChecksum {
    private static let salt = Array("com.apple.XattrObjectSalt\0com.apple.DataObjectSalt\0".utf8)

    private let digest = MessageDigest(EVP_sha1(), size: 20)

    package init() { update(Self.salt) }

    package func update(_ bytes: UnsafeRawBufferPointer) { digest.update(bytes) }

    package func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    /// The checksum of all bytes so far. Nothing may be added after it.
    package func finish() -> String { Data([1] + digest.finish()).base64EncodedString() }
}
