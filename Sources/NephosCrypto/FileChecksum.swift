import CDigest
import FoundationEssentials

/// Computes the checksum of a file for clients of CloudKit Web Services (`fileChecksum`): the base64 of the byte 1 and
/// of the SHA-1 of a fixed text and the bytes of the file.
///
/// SHA-1 is not collision-resistant, so the checksum detects mistakes only. It is neither a key nor a proof. One thread
/// at a time uses an object of this class.
package final class FileChecksum {
    private static let salt = Array("com.apple.XattrObjectSalt\0com.apple.DataObjectSalt\0".utf8)

    private let digest = MessageDigest(EVP_sha1(), size: 20)

    package init() { update(Self.salt) }

    package func update(_ bytes: UnsafeRawBufferPointer) { digest.update(bytes) }

    package func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    /// Returns the checksum of all bytes so far. No bytes may be added afterwards.
    package func finish() -> String { Data([1] + digest.finish()).base64EncodedString() }
}
