/// Numbers written as text.
enum JSONNumber {
    /// Digits with an optional minus sign, within 64 bits; nil for anything else.
    static func int64(_ text: UnsafeRawBufferPointer) -> Int64? {
        var digits = text[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        guard !digits.isEmpty, digits.count <= 19 else { return nil }
        var magnitude: UInt64 = 0
        for byte in digits {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            magnitude = magnitude &* 10 &+ UInt64(byte &- 0x30)
        }
        guard isNegative else { return Int64(exactly: magnitude) }
        return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil
    }

    /// A number by JSON's grammar with a finite value; nil for anything else (`NaN`, `0x1p3`, ` 1`, `1e999`).
    static func double(_ text: UnsafeRawBufferPointer) -> Double? {
        guard scan(text, from: 0)?.end == text.count,
            let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite
        else { return nil }
        return value
    }

    /// The number by JSON's grammar that starts at `start`.
    static func scan(_ text: UnsafeRawBufferPointer, from start: Int) -> (end: Int, isInteger: Bool)? {
        var index = start
        if byte(text, index) == UInt8(ascii: "-") { index += 1 }
        let leading = byte(text, index)
        let firstDigit = index
        guard skipDigits(text, &index), leading != UInt8(ascii: "0") || index == firstDigit + 1 else { return nil }
        var isInteger = true
        if byte(text, index) == UInt8(ascii: ".") {
            isInteger = false
            index += 1
            guard skipDigits(text, &index) else { return nil }
        }
        if byte(text, index) | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            index += 1
            let sign = byte(text, index)
            if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { index += 1 }
            guard skipDigits(text, &index) else { return nil }
        }
        return (index, isInteger)
    }

    @inline(__always)
    private static func byte(_ text: UnsafeRawBufferPointer, _ index: Int) -> UInt8 {
        index < text.count ? text[index] : 0
    }

    /// Returns whether there was one.
    @inline(__always)
    private static func skipDigits(_ text: UnsafeRawBufferPointer, _ index: inout Int) -> Bool {
        let first = index
        while byte(text, index) &- 0x30 <= 9 { index += 1 }
        return index > first
    }
}
