import CSodium

/// Hashes of passwords by Argon2id (RFC 9106, libsodium's `crypto_pwhash_str`). A hash names its own parameters.
///
/// A call takes about 0.1 seconds of a processor and 64 MiB of memory, so it runs on a bounded pool.
package enum PasswordHash {
    /// The parameters that libsodium recommends for sign-in while a person waits.
    private static let (operations, memory) = (UInt64(2), 64 * 1024 * 1024)

    /// Returns the hash of a password with a new salt; nil if the memory cannot be had.
    package static func make(_ password: String) -> String? {
        Sodium.isReady
        var hash = [CChar](repeating: 0, count: crypto_pwhash_strbytes())
        var password = password
        let isMade = password.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                crypto_pwhash_str(&hash, $0.baseAddress ?? emptyText, UInt64($0.count), operations, memory) == 0
            }
        }
        return isMade ? String(decoding: hash.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }

    package static func verify(_ password: String, _ hash: String) -> Bool {
        Sodium.isReady
        var password = password
        return password.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                crypto_pwhash_str_verify(hash, $0.baseAddress ?? emptyText, UInt64($0.count)) == 0
            }
        }
    }

    /// Whether a hash was made with other parameters than those of today.
    package static func isOutdated(_ hash: String) -> Bool {
        Sodium.isReady
        return crypto_pwhash_str_needs_rehash(hash, operations, memory) != 0
    }

    /// The address of an empty password, which libsodium must not get as null.
    nonisolated(unsafe) private static let emptyText: UnsafePointer<CChar> = {
        let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
        text.initialize(to: 0)
        return UnsafePointer(text)
    }()
}
