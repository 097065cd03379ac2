/// The rule for the names of record types and fields: a letter, then letters, digits and underscores.
enum Identifier {
    static func isValid(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { bytes in
            guard let first = bytes.first, isLetter(first), bytes.count <= Limits.identifierLength else { return false }
            return bytes.allSatisfy { isLetter($0) || ($0 >= 0x30 && $0 <= 0x39) || $0 == UInt8(ascii: "_") }
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
    }

    /// The name, truncated to fit into the reason of an error.
    static func excerpt(_ name: String, _ limit: Int = 40) -> String {
        let scalars = name.unicodeScalars.prefix(limit + 1)
        return scalars.count <= limit ? name : String(scalars.prefix(limit)) + "…"
    }
}
