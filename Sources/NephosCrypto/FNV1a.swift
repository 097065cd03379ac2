/// 64-bit FNV-1a: a non-cryptographic hash that is the same in every process, unlike Swift's.
@frozen package struct FNV1a: Sendable {
    /// The hash of the bytes so far.
    package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    package init(_ bytes: some Sequence<UInt8>) { add(bytes) }

    package mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }

    /// The hash with its high bits mixed into the low bits, so that similar inputs result in distant numbers.
    package var mixed: UInt64 {
        let mixed = (value ^ value >> 33) &* 0xFF51_AFD7_ED55_8CCD
        return mixed ^ mixed >> 33
    }
}
