@_spi(_Unicode) import Swift

/// The semantics of queries in cases that the documentation leaves open. The server's index and evaluation without an
/// index share them.
package enum QuerySemantics {
    /// Whether `EQUALS`, `IN` and the list comparators treat "Red" and "red" as equal. Apple's documentation of CKQuery
    /// says that they do.
    package static let equalityIgnoresCase = true

    /// The form of a string that equality compares, as UTF-8: two strings are equal if their forms have equal bytes.
    /// `BEGINSWITH` and orderings compare the bytes of the strings themselves.
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

    /// Appends the case-folded scalar: "ß" and "SS" become "ss".
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
