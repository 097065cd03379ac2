/// Parses numbers in text.
package enum JSONNumber {
    /// Parses digits with an optional minus sign; nil for any other text, and for numbers beyond 64 bits.
    package static func int64(_ text: String) -> Int64? { Array(text.utf8).withUnsafeBytes { int64($0) } }

    /// Parses a finite number in JSON's grammar; nil for any other text.
    package static func double(_ text: String) -> Double? { Array(text.utf8).withUnsafeBytes { double($0) } }

    /// Parses digits with an optional minus sign; nil for any other text, and for numbers beyond 64 bits.
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

    /// Parses a finite number in JSON's grammar; nil for any other text (`NaN`, `0x1p3`, ` 1`, `1e999`).
    static func double(_ text: UnsafeRawBufferPointer) -> Double? {
        guard scan(text, from: 0)?.end == text.count,
            let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite
        else { return nil }
        return value
    }

    /// Returns the end of the number in JSON's grammar that starts at `start`, and whether it is an integer; nil if
    /// there is none.
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

    /// Returns the document with `.0` appended to every integer beyond 64 bits; nil if there is no such integer.
    static func withFractionsForLargeIntegers(_ document: UnsafeRawBufferPointer) -> [UInt8]? {
        var result: [UInt8] = []
        var index = 0
        var copied = 0
        while index < document.count {
            let byte = document[index]
            if byte == UInt8(ascii: "\"") {
                index = endOfString(document, from: index)
            } else if byte == UInt8(ascii: "-") || byte &- 0x30 <= 9, let (end, isInteger) = scan(document, from: index)
            {
                let text = UnsafeRawBufferPointer(rebasing: document[index..<end])
                if isInteger, int64(text) == nil, UInt64(String(decoding: text, as: UTF8.self)) == nil {
                    result += document[copied..<end]
                    result += ".0".utf8
                    copied = end
                }
                index = end
            } else {
                index += 1
            }
        }
        if copied == 0 { return nil }
        return result + document[copied...]
    }

    /// Returns the index after the string that starts at `start`.
    private static func endOfString(_ document: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start + 1
        while index < document.count {
            index = JSONEscape.firstSpecial(in: document, from: index)
            if byte(document, index) == UInt8(ascii: "\"") { return index + 1 }
            index += byte(document, index) == UInt8(ascii: "\\") ? 2 : 1
        }
        return document.count
    }

    @inline(__always)
    private static func byte(_ text: UnsafeRawBufferPointer, _ index: Int) -> UInt8 {
        index < text.count ? text[index] : 0
    }

    /// Skips digits. Returns whether there was at least one digit.
    @inline(__always)
    private static func skipDigits(_ text: UnsafeRawBufferPointer, _ index: inout Int) -> Bool {
        let first = index
        while byte(text, index) &- 0x30 <= 9 { index += 1 }
        return index > first
    }
}
