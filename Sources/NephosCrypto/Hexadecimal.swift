/// Bytes as text.
package enum Hexadecimal {
    /// Returns two lower-case hexadecimal digits for each byte.
    package static func text(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
            var index = 0
            for byte in bytes {
                text[index] = digits.utf8Start[Int(byte >> 4)]
                text[index + 1] = digits.utf8Start[Int(byte & 15)]
                index += 2
            }
            return index
        }
    }

    private static let digits: StaticString = "0123456789abcdef"
}
