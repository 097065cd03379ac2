import CSodium

/// Hashes of passwords by Argon2id (RFC 9106, libsodium's `crypto_pwhash_str`). A hash names its own parameters.
///
/// At `Cost.interactive` a call takes about 0.1 seconds of a processor and 64 MiB of memory, so it runs on a bounded pool.
package enum PasswordHash {
    /// The parameters of a hash.
    package struct Cost: Sendable {
        /// The number of passes.
        package var operations: UInt64
        /// The number of bytes of memory.
        package var memory: Int

        package init(operations: UInt64, memory: Int) {
            self.operations = operations
            self.memory = memory
        }

        /// The parameters that libsodium recommends for sign-in while a person waits.
        package static let interactive = Cost(operations: 2, memory: 64 * 1024 * 1024)
    }

    /// Returns the hash of a password with a new salt; nil if the memory cannot be had.
    package static func make(_ password: String, _ cost: Cost = .interactive) -> String? {
        Sodium.isReady
        var hash = [CChar](repeating: 0, count: crypto_pwhash_strbytes())
        var password = password
        let isMade = password.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                crypto_pwhash_str(&hash, $0.baseAddress ?? emptyText, UInt64($0.count), cost.operations, cost.memory)
                    == 0
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

    /// Whether a hash was made with other parameters.
    package static func isOutdated(_ hash: String, _ cost: Cost = .interactive) -> Bool {
        Sodium.isReady
        return crypto_pwhash_str_needs_rehash(hash, cost.operations, cost.memory) != 0
    }

    /// The address of an empty password, which libsodium must not get as null.
    nonisolated(unsafe) private static let emptyText: UnsafePointer<CChar> = {
        let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
        text.initialize(to: 0)
        return UnsafePointer(text)
    }()
}
