/// Makes output safe for terminals: it contains no control sequences.
enum TerminalSafe {
    /// Escapes the control characters that JSON allows unescaped (U+007F to U+009F). The result is an equivalent
    /// document. In JSON, characters beyond ASCII occur only in strings.
    static func json(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(where: { $0 == delete || $0 == firstOfC1 }) else { return bytes }
        var safe: [UInt8] = []
        safe.reserveCapacity(bytes.count + 64)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == delete {
                safe += escape(delete)
            } else if byte == firstOfC1, index + 1 < bytes.count, (0x80...0x9F).contains(bytes[index + 1]) {
                index += 1
                safe += escape(bytes[index])
            } else {
                safe.append(byte)
            }
            index += 1
        }
        return safe
    }

    private static let delete: UInt8 = 0x7F
    /// The first byte of the characters U+0080 to U+00BF in UTF-8.
    private static let firstOfC1: UInt8 = 0xC2

    private static func escape(_ byte: UInt8) -> [UInt8] {
        let digits = String(byte, radix: 16)
        return Array("\\u00\(digits)".utf8)
    }
}
