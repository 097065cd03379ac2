import CDigest
import CSodium

/// The hash of content that arrives in pieces.
///
/// One thread at a time uses it.
package final class StreamingHash {
    package enum Algorithm: Sendable {
        /// FIPS 180-4; 32 bytes.
        case sha256
        /// RFC 7693, without a key; 32 bytes.
        case blake2b

        /// The hash that identifies an asset file's content: processors have instructions for it, with which a gigabyte
        /// takes half a second. BLAKE2b, without such instructions, takes three times as long.
        package static let content = Algorithm.sha256

        /// Bytes of the hash.
        package var size: Int { 32 }
    }

    private enum State {
        case sha256(MessageDigest)
        /// libsodium's state, which must be aligned to 64 bytes.
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

    /// The hash of all bytes so far. Nothing may be added after it.
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
