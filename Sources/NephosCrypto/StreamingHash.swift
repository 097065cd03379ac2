import CSodium

/// The hash of content that comes in pieces.
///
/// One thread at a time uses it.
package final class StreamingHash {
    package enum Algorithm: Sendable {
        /// FIPS 180-4; 32 bytes.
        case sha256
        /// RFC 7693, without a key; 32 bytes.
        case blake2b

        /// Bytes of the hash.
        package var size: Int { 32 }
    }

    private let algorithm: Algorithm
    /// libsodium's state, which has to lie at a multiple of 64.
    private let state: UnsafeMutableRawPointer

    package init(_ algorithm: Algorithm) {
        Sodium.isReady
        self.algorithm = algorithm
        switch algorithm {
        case .sha256:
            state = .allocate(byteCount: crypto_hash_sha256_statebytes(), alignment: 64)
            crypto_hash_sha256_init(sha256)
        case .blake2b:
            state = .allocate(byteCount: crypto_generichash_statebytes(), alignment: 64)
            crypto_generichash_init(blake2b, nil, 0, algorithm.size)
        }
    }

    deinit { state.deallocate() }

    private var sha256: UnsafeMutablePointer<crypto_hash_sha256_state> {
        state.assumingMemoryBound(to: crypto_hash_sha256_state.self)
    }
    private var blake2b: OpaquePointer { OpaquePointer(state) }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
        switch algorithm {
        case .sha256: crypto_hash_sha256_update(sha256, start, UInt64(bytes.count))
        case .blake2b: crypto_generichash_update(blake2b, start, UInt64(bytes.count))
        }
    }

    package func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    /// The hash of everything so far. Nothing may be added after it.
    package func finish() -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: algorithm.size)
        switch algorithm {
        case .sha256: crypto_hash_sha256_final(sha256, &hash)
        case .blake2b: crypto_generichash_final(blake2b, &hash, hash.count)
        }
        return hash
    }
}
