@_spi(_Unicode) import Swift

/// The semantics of queries in cases that the documentation leaves open. The server's index uses them, and so does
/// evaluation without an index.
package enum QuerySemantics {
    /// Whether `EQUALS`, `IN` and the list comparators treat "Red" and "red" as equal. They do according to Apple's
    /// documentation of CKQuery.
    package static let equalityIgnoresCase = true

    /// Returns the form of a string for comparisons by equality. Two strings are equal if the UTF-8 bytes of their
    /// forms are equal. `BEGINSWITH` and orderings compare the bytes of the strings themselves.
    package static func equalityForm(_ string: String) -> String {
        if string.utf8.allSatisfy({ $0 < 0x80 }) { return equalityIgnoresCase ? lowercasedASCII(string) : string }
        var form = String.UnicodeScalarView()
        for scalar in string._nfd {
            equalityIgnoresCase ? appendCaseFolded(scalar, to: &form) : form.append(scalar)
        }
        return String(form)
    }

    static func lowercasedASCII(_ string: String) -> String {
        guard string.utf8.contains(where: { $0 &- 0x41 < 26 }) else { return string }
        return String(decoding: string.utf8.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// Appends the scalar's case-folded form to `text`: "ß" and "SS" both become "ss".
    static func appendCaseFolded(_ scalar: Unicode.Scalar, to text: inout String.UnicodeScalarView) {
        if scalar.isASCII {
            let value = scalar.value
            text.append(value &- 0x41 < 26 ? Unicode.Scalar(UInt8(value | 0x20)) : scalar)
            return
        }
        for upper in scalar.properties.uppercaseMapping.unicodeScalars {
            text.append(contentsOf: upper.properties.lowercaseMapping.unicodeScalars)
        }
    }
}
