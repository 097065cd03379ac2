extension String {
    /// Returns the first `limit` characters, with control characters and bidirectional formatting characters escaped.
    /// Text of other users must not contain terminal commands.
    package func printable(limit: Int = .max) -> String {
        var result = ""
        for scalar in unicodeScalars.prefix(limit) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return unicodeScalars.count > limit ? result + "…" : result
    }

    /// The text's lines, each printable.
    package var printableLines: String {
        let isPlain = utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F || $0 == UInt8(ascii: "\n") }
        if isPlain { return self }
        return split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable() }
            .joined(separator: "\n")
    }
}
