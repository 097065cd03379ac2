import CSodium

/// libsodium, which is initialized on first use.
enum Sodium {
    static let isReady: Void = {
        // The call fails only if the system has no source of randomness.
        guard sodium_init() >= 0 else {
            fatalError("libsodium cannot be initialised: the system gives no random bytes")
        }
    }()
}

/// Bytes from the system's source of randomness, suitable for keys.
package enum RandomBytes {
    package static func make(_ count: Int) -> [UInt8] {
        Sodium.isReady
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            if let start = buffer.baseAddress { randombytes_buf(start, count) }
            written = count
        }
    }
}
