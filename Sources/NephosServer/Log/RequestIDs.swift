import Synchronization

/// Generates the identifiers of requests: `X-Apple-Request-UUID` and the `uuid` of errors, as version 4 UUIDs.
///
/// The identifiers are no secrets. So the whole process uses one random seed, and a request costs no system call.
final class RequestIDs: Sendable {
    private let seed: UInt64
    private let counter = Atomic<UInt64>(0)

    init() {
        seed = .random(in: .min ... .max)
    }

    func next() -> String {
        let number = counter.wrappingAdd(2, ordering: .relaxed).oldValue
        var high = Self.mix(seed &+ number)
        var low = Self.mix(seed &+ number &+ 1)
        high = high & ~0xF000 | 0x4000
        low = low & ~(0b11 << 62) | 0b10 << 62
        return String(unsafeUninitializedCapacity: 36) { text in
            for digit in 0..<32 {
                let word = digit < 16 ? high : low
                let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - digit % 16 * 4)) & 0xF
                let dashes = digit < 8 ? 0 : digit < 12 ? 1 : digit < 16 ? 2 : digit < 20 ? 3 : 4
                text[digit + dashes] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
            }
            for position in [8, 13, 18, 23] { text[position] = UInt8(ascii: "-") }
            return 36
        }
    }

    /// SplitMix64, which is a bijection: distinct counters give distinct numbers.
    private static func mix(_ value: UInt64) -> UInt64 {
        var z = value &* 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
