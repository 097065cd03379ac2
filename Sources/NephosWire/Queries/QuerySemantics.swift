@_spi(_Unicode) import Swift

/// The semantics of queries in cases that the documentation leaves open. The server's index uses them, and so does
/// evaluation without an index.
package enum QuerySemantics {
    /// Whether `EQUALS`, `IN` and the list comparators treat "Red" and "red" as equal. They do according to Apple's
    /// documentation of CKQuery.
    package static let equalityIgnoresCase = true

    /// The maximum length of a run of combining marks that is normalised as one. A longer run, which no language has, is
    /// normalised in pieces, because normalisation takes the square of a run's length.
    static let longestMarkRun = 64

    /// Returns the form of a string for comparisons by equality. Two strings are equal if the UTF-8 bytes of their
    /// forms are equal. `BEGINSWITH` and orderings compare the bytes of the strings themselves.
    /// - Parameter limit: the number of bytes after which the form may end. The result is then a prefix of the form that
    ///   is longer than `limit`.
    package static func equalityForm(_ string: String, limit: Int = .max) -> [UInt8] {
        if string.utf8.allSatisfy({ $0 < 0x80 }) {
            let bytes = limit < string.utf8.count ? string.utf8.prefix(limit + 1) : string.utf8[...]
            return equalityIgnoresCase ? bytes.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 } : Array(bytes)
        }
        var form: [UInt8] = []
        forEachDecomposed(string) { scalar in
            if equalityIgnoresCase {
                appendCaseFolded(scalar, to: &form)
            } else {
                append(scalar, to: &form)
            }
            return form.count <= limit
        }
        return form
    }

    /// Calls `body` with each scalar of the string's canonical decomposition until it returns false.
    static func forEachDecomposed(_ string: String, _ body: (Unicode.Scalar) -> Bool) {
        /// A starter and the combining marks after it, or the next part of a long run of marks.
        var piece = String.UnicodeScalarView()
        var marks = 0
        func take() -> Bool {
            defer { (piece, marks) = (String.UnicodeScalarView(), 0) }
            if marks == 0, let scalar = piece.first, scalar.isASCII { return body(scalar) }
            for scalar in String(piece)._nfd where !body(scalar) { return false }
            return true
        }
        for scalar in string.unicodeScalars {
            let isMark = isCombiningMark(scalar)
            if (!isMark || marks == longestMarkRun) && !piece.isEmpty, !take() { return }
            piece.append(scalar)
            if isMark { marks += 1 }
        }
        _ = take()
    }

    /// Whether normalisation may move the scalar before an earlier one.
    static func isCombiningMark(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x300 && scalar.properties.canonicalCombiningClass != .notReordered
    }

    /// Appends the UTF-8 bytes of the scalar's case-folded form: "ß" and "SS" both become "ss".
    static func appendCaseFolded(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        if scalar.isASCII {
            let byte = UInt8(scalar.value)
            bytes.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
            return
        }
        for upper in scalar.properties.uppercaseMapping.unicodeScalars {
            for lower in upper.properties.lowercaseMapping.unicodeScalars { append(lower, to: &bytes) }
        }
    }

    private static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        UTF8.encode(scalar).map { bytes.append(contentsOf: $0) }
    }
}
