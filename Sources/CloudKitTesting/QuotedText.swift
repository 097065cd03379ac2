extension String {
    /// The text in quotation marks, on one line and as in Swift code, so that different texts look different.
    var quoted: String {
        // `debugDescription` also escapes apostrophes, which need it in no text.
        debugDescription.replacing("\\'", with: "'")
    }

    /// The text as it is if that is unambiguous, or else `quoted`.
    var quotedIfNeeded: String { quoted.dropFirst().dropLast() == self ? self : quoted }
}
