import CSodium

/// A secret that seals content. Only its holders can read the content, change it, or present it in another context.
/// Sealed content opens under one key only (key commitment).
///
/// Sealed content consists of a nonce of 24 random bytes, a commitment of 32 bytes, and the ciphertext of
/// XChaCha20-Poly1305, which is 16 bytes longer than the content. Keyed BLAKE2b-512 of the context and the nonce
/// results in the 32 bytes of the cipher's key and in the commitment (Documentation/Encryption.md).
package struct SealKey: Hashable, Sendable {
    /// The size of a key in bytes.
    package static let size = 32
    /// The number of bytes by which sealed content exceeds its plaintext.
    package static let overhead = nonceSize + commitmentSize + tagSize

    private static let nonceSize = 24
    private static let commitmentSize = 32
    private static let tagSize = 16

    package let bytes: [UInt8]

    /// Nil unless there are exactly `size` bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = bytes
    }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// Returns a new random key.
    package static func random() -> SealKey { SealKey(unchecked: RandomBytes.make(size)) }

    /// Seals content.
    /// - Parameters:
    ///   - context: the context of the content. The result does not contain it, and opening requires the same context.
    ///   - header: the bytes that precede the sealed content in the result.
    package func seal(_ content: [UInt8], context: SealContext, header: [UInt8] = []) -> [UInt8] {
        seal(content, context: context, header: header, nonce: RandomBytes.make(Self.nonceSize))
    }

    /// Seals content with a given nonce. Only test vectors use this, because a nonce must never be used again.
    package func seal(_ content: [UInt8], context: SealContext, header: [UInt8], nonce: [UInt8]) -> [UInt8] {
        let start = header.count
        let size = start + Self.overhead + content.count
        return withDerived(context, nonce) { derived in
            [UInt8](unsafeUninitializedCapacity: size) { output, count in
                for (index, byte) in header.enumerated() { output[index] = byte }
                for (index, byte) in nonce.enumerated() { output[start + index] = byte }
                for index in 0..<Self.commitmentSize {
                    output[start + Self.nonceSize + index] = derived[Self.size + index]
                }
                if let output = output.baseAddress, let key = derived.baseAddress {
                    // The call fails only for more than 256 GB of content.
                    crypto_aead_xchacha20poly1305_ietf_encrypt(
                        output + start + Self.nonceSize + Self.commitmentSize, nil, content, UInt64(content.count), nil,
                        0, nil, nonce, key)
                }
                count = size
            }
        }
    }

    /// Opens the result of `seal` in the same context; nil for any other bytes.
    package func open(_ sealed: ArraySlice<UInt8>, context: SealContext) -> [UInt8]? {
        guard sealed.count >= Self.overhead else { return nil }
        return sealed.withUnsafeBufferPointer { sealed -> [UInt8]? in
            guard let nonce = sealed.baseAddress else { return nil }
            let commitment = nonce + Self.nonceSize
            let cipher = commitment + Self.commitmentSize
            let size = sealed.count - Self.nonceSize - Self.commitmentSize
            return withDerived(context, Array(UnsafeBufferPointer(start: nonce, count: Self.nonceSize))) { derived in
                guard let key = derived.baseAddress,
                    sodium_memcmp(key + Self.size, commitment, Self.commitmentSize) == 0
                else { return nil }
                var isOpen = false
                // An empty buffer has no address, so the capacity is at least 1.
                let content = [UInt8](unsafeUninitializedCapacity: max(1, size - Self.tagSize)) { output, count in
                    guard let output = output.baseAddress else { return }
                    let status = crypto_aead_xchacha20poly1305_ietf_decrypt(
                        output, nil, nil, cipher, UInt64(size), nil, 0, nonce, key)
                    isOpen = status == 0
                    count = isOpen ? size - Self.tagSize : 0
                }
                return isOpen ? content : nil
            }
        }
    }

    /// Passes the key of the cipher, followed by the commitment, to a closure.
    private func withDerived<Result>(
        _ context: SealContext, _ nonce: [UInt8], _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        Sodium.isReady
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.size + Self.commitmentSize) { derived in
            let message = context.bytes + nonce
            if let start = derived.baseAddress {
                crypto_generichash(start, derived.count, message, UInt64(message.count), bytes, bytes.count)
            }
            defer { sodium_memzero(derived.baseAddress, derived.count) }
            return body(UnsafeBufferPointer(derived))
        }
    }
}

/// The context of sealed content or of a signature: a list of values. The length of each value precedes it in four
/// bytes, big-endian, so that different lists have different bytes.
package struct SealContext: Hashable, Sendable {
    package private(set) var bytes: [UInt8] = []

    /// - Parameter label: the purpose of the context.
    package init(_ label: String) {
        bytes.reserveCapacity(320)
        append(label)
    }

    package mutating func append(_ value: [UInt8]) {
        append(count: value.count)
        bytes += value
    }

    package mutating func append(_ text: String) {
        append(count: text.utf8.count)
        bytes += text.utf8
    }

    package mutating func append(_ number: Int64) {
        append(count: 8)
        let number = UInt64(bitPattern: number)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    private mutating func append(count: Int) {
        let count = UInt32(truncatingIfNeeded: count)
        for shift in stride(from: UInt32(24), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: count >> shift))
        }
    }
}
