import CSodium

/// Seals content of any length in chunks, so that the content can be sealed and opened as a stream, and each chunk can
/// be opened alone. Without the key, the content cannot be read. Nor can it be changed, reordered or truncated
/// undetected.
///
/// Sealed content is a header of 16 bytes (the format, and 15 random bytes) and the chunks. Each chunk is sealed with
/// XChaCha20-Poly1305 and is 16 bytes longer than its plaintext. The nonce of a chunk consists of the header's random
/// bytes, the index of the chunk, and a flag for the last chunk (Documentation/Encryption.md).
package struct ContentSeal: Sendable {
    /// The number of bytes of content in every chunk except the last, which may have fewer. Empty content is one empty
    /// chunk.
    package static let chunkSize = 64 << 10
    /// The number of bytes by which a sealed chunk exceeds its plaintext.
    package static let tagSize = 16
    package static let headerSize = 16
    /// The size of a full sealed chunk in bytes.
    package static let sealedChunkSize = chunkSize + tagSize
    private static let format: UInt8 = 1
    private static let nonceSize = 24

    private let key: SealKey
    package let header: [UInt8]

    /// Prepares sealing. A key is used for one content only. The header's random bytes differ each time, so that
    /// content which changed since a failed attempt is never sealed with the same nonce.
    package init(_ key: SealKey) {
        self.key = key
        header = [Self.format] + RandomBytes.make(Self.headerSize - 1)
    }

    /// Prepares opening content with the header `header`; nil for an unknown format. Tests also use this initializer
    /// for sealing.
    package init?(_ key: SealKey, header: some Collection<UInt8>) {
        guard header.count == Self.headerSize, header.first == Self.format else { return nil }
        self.key = key
        self.header = Array(header)
    }

    // MARK: Sizes

    /// Returns the number of chunks for content of `size` bytes.
    package static func chunkCount(of size: Int64) -> Int64 {
        size <= 0 ? 1 : (size - 1) / Int64(chunkSize) + 1
    }

    /// Returns the size in bytes of the sealed form of content of `size` bytes.
    package static func sealedSize(of size: Int64) -> Int64 {
        Int64(headerSize) + size + chunkCount(of: size) * Int64(tagSize)
    }

    /// Returns the size in bytes of the plaintext of sealed content; nil if no content has this sealed size.
    package static func size(ofSealed size: Int64) -> Int64? {
        let chunks = size - Int64(headerSize)
        guard chunks >= Int64(tagSize) else { return nil }
        let count = (chunks - 1) / Int64(sealedChunkSize) + 1
        let content = chunks - count * Int64(tagSize)
        return content >= 0 && chunkCount(of: content) == count ? content : nil
    }

    // MARK: Chunks

    /// Seals a chunk.
    /// - Parameter output: receives the sealed chunk. It has `tagSize` bytes more than the chunk.
    package func seal(
        _ chunk: UnsafeRawBufferPointer, index: Int64, isLast: Bool, into output: UnsafeMutableRawBufferPointer
    ) {
        guard output.count == chunk.count + Self.tagSize,
            let start = output.assumingMemoryBound(to: UInt8.self).baseAddress
        else { preconditionFailure("A sealed chunk is longer by its tag.") }
        let nonce = nonce(index, isLast)
        crypto_aead_xchacha20poly1305_ietf_encrypt(
            start, nil,
            chunk.assumingMemoryBound(to: UInt8.self).baseAddress, UInt64(chunk.count), nil, 0, nil, nonce, key.bytes)
    }

    /// Opens a chunk.
    /// - Parameter output: receives the plaintext. It has `tagSize` bytes less than the sealed chunk.
    /// - Returns: whether the bytes are this chunk of the content. If they are not, `output` must not be read.
    package func open(
        _ chunk: UnsafeRawBufferPointer, index: Int64, isLast: Bool, into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        guard output.count == chunk.count - Self.tagSize,
            let start = chunk.assumingMemoryBound(to: UInt8.self).baseAddress
        else { return false }
        let nonce = nonce(index, isLast)
        return crypto_aead_xchacha20poly1305_ietf_decrypt(
            output.assumingMemoryBound(to: UInt8.self).baseAddress, nil, nil, start, UInt64(chunk.count), nil, 0, nonce,
            key.bytes) == 0
    }

    private func nonce(_ index: Int64, _ isLast: Bool) -> [UInt8] {
        var nonce: [UInt8] = []
        nonce.reserveCapacity(Self.nonceSize)
        nonce += header.dropFirst()
        for shift in stride(from: Int64(56), through: 0, by: -8) {
            nonce.append(UInt8(truncatingIfNeeded: index >> shift))
        }
        nonce.append(isLast ? 1 : 0)
        return nonce
    }
}
