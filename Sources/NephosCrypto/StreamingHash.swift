import CDigest
import CSodium

/// A hash function for content that arrives in pieces.
///
/// One thread at a time uses an object of this class.
package final class StreamingHash {
    package enum Algorithm: Sendable {
        /// SHA-256 (FIPS 180-4), with a hash of 32 bytes.
        case sha256
        /// BLAKE2b (RFC 7693) without a key, with a hash of 32 bytes.
        case blake2b

        /// The hash function that identifies the content of an asset file. Processors have instructions for SHA-256,
        /// with which a gigabyte takes half a second. BLAKE2b has no such instructions and takes three times as long.
        package static let content = Algorithm.sha256

        /// The size of the hash in bytes.
        package var size: Int { 32 }
    }

    private enum State {
        case sha256(MessageDigest)
        /// The state of libsodium, which must be aligned to 64 bytes.
        case blake2b(UnsafeMutableRawPointer)
    }

    private let state: State

    package init(_ algorithm: Algorithm) {
        switch algorithm {
        case .sha256: state = .sha256(MessageDigest(EVP_sha256(), size: algorithm.size))
        case .blake2b:
            Sodium.isReady
            let blake2b = UnsafeMutableRawPointer.allocate(
                byteCount: crypto_generichash_statebytes(), alignment: 64)
            crypto_generichash_init(OpaquePointer(blake2b), nil, 0, algorithm.size)
            state = .blake2b(blake2b)
        }
    }

    deinit {
        if case .blake2b(let state) = state { state.deallocate() }
    }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .sha256(let digest): digest.update(bytes)
        case .blake2b(let state):
            crypto_generichash_update(
                OpaquePointer(state), bytes.assumingMemoryBound(to: UInt8.self).baseAddress, UInt64(bytes.count))
        }
    }

    package func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    /// Returns the hash of all bytes so far. No bytes may be added afterwards.
    package func finish() -> [UInt8] {
        switch state {
        case .sha256(let digest): return digest.finish()
        case .blake2b(let state):
            var hash = [UInt8](repeating: 0, count: Algorithm.blake2b.size)
            crypto_generichash_final(OpaquePointer(state), &hash, hash.count)
            return hash
        }
    }
}
