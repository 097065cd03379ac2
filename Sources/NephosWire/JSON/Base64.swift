/// Base64 in the standard alphabet, padded (RFC 4648 §4), the encoding of BYTES fields.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let invalid: UInt8 = 0xFF
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: invalid, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    static func encodedCount(_ count: Int) -> Int { (count + 2) / 3 * 4 }

    /// Encodes `bytes` as base64 text.
    package static func text(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { text($0) } }

    /// Encodes `bytes` as base64 text.
    package static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: encodedCount(bytes.count)) { output in
            guard let start = output.baseAddress else { return 0 }
            encode(bytes, to: start)
            return encodedCount(bytes.count)
        }
    }

    /// Writes the base64 text of `bytes` to `output`, which must have a capacity of `encodedCount` bytes or more.
    static func encode(_ bytes: UnsafeRawBufferPointer, to output: UnsafeMutablePointer<UInt8>) {
        alphabet.withUnsafeBufferPointer { alphabet in
            var output = output
            var index = 0
            while index + 3 <= bytes.count {
                let group = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
                output[0] = alphabet[group >> 18]
                output[1] = alphabet[group >> 12 & 63]
                output[2] = alphabet[group >> 6 & 63]
                output[3] = alphabet[group & 63]
                output += 4
                index += 3
            }
            guard index < bytes.count else { return }
            let hasTwo = index + 1 < bytes.count
            let group = Int(bytes[index]) << 16 | (hasTwo ? Int(bytes[index + 1]) << 8 : 0)
            output[0] = alphabet[group >> 18]
            output[1] = alphabet[group >> 12 & 63]
            output[2] = hasTwo ? alphabet[group >> 6 & 63] : UInt8(ascii: "=")
            output[3] = UInt8(ascii: "=")
        }
    }

    /// Decodes base64 text like `decode(_:)`, but accepts the line breaks and spaces that some languages' libraries
    /// insert by default.
    static func decodeLines(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        decode(text) ?? text.filter { !whitespace.contains($0) }.withUnsafeBytes(decode)
    }

    /// Decodes base64 text with line breaks and spaces; nil if the text is not base64.
    package static func decodeLines(_ text: String) -> [UInt8]? { Array(text.utf8).withUnsafeBytes(decodeLines) }

    private static let whitespace = Array(" \t\r\n".utf8)

    /// Decodes base64 text; nil if the text is not base64.
    static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        guard text.count > 0 else { return [] }
        let padding =
            text[text.count - 1] == UInt8(ascii: "=") ? (text[text.count - 2] == UInt8(ascii: "=") ? 2 : 1) : 0
        let digits = text.count - padding
        var isValid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3) { output, count in
            values.withUnsafeBufferPointer { values in
                var seen: UInt8 = 0
                func digit(_ index: Int) -> Int {
                    guard index < digits else { return 0 }
                    let value = values[Int(text[index])]
                    seen |= value
                    return Int(value)
                }
                for group in 0..<(text.count / 4) {
                    let at = group * 4
                    let bits = digit(at) << 18 | digit(at + 1) << 12 | digit(at + 2) << 6 | digit(at + 3)
                    output[group * 3] = UInt8(truncatingIfNeeded: bits >> 16)
                    output[group * 3 + 1] = UInt8(truncatingIfNeeded: bits >> 8)
                    output[group * 3 + 2] = UInt8(truncatingIfNeeded: bits)
                }
                // The values of base64 digits are under 64, and `invalid` sets the high bits.
                isValid = seen < 64
            }
            count = text.count / 4 * 3 - padding
        }
        return isValid ? bytes : nil
    }
}
