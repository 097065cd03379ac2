/// Splits text into the tokens of full-text search. Tokens are runs of letters and digits, folded to ignore case and
/// diacritics. Stop words are omitted.
package enum Tokenizer {
    /// Words that full-text search ignores (CKQuery, Apple's documentation).
    package static let stopWords: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not",
        "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was",
        "will", "with",
    ]

    /// Returns the text's distinct tokens in order. The maximum size of a token is `longestToken` UTF-8 bytes. A longer
    /// run is split after these, in texts and in searches alike.
    package static func tokens(of text: String) -> [String] {
        var collector = Collector()
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            var bytes: [UInt8] = []
            for byte in text.utf8 {
                if isWordASCII(byte) {
                    bytes.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
                } else if !bytes.isEmpty {
                    collector.add(bytes)
                    bytes.removeAll(keepingCapacity: true)
                }
            }
            collector.add(bytes)
            return collector.tokens
        }
        var word: [UInt8] = []
        QuerySemantics.forEachDecomposed(text) { scalar in
            if scalar.isASCII ? isWordASCII(UInt8(scalar.value)) : isWord(scalar) {
                QuerySemantics.appendCaseFolded(scalar, to: &word)
            } else if !isMark(scalar), !word.isEmpty {
                // Diacritics, which decomposition separated from their letters, end no word.
                collector.add(word)
                word.removeAll(keepingCapacity: true)
            }
            return true
        }
        collector.add(word)
        return collector.tokens
    }

    /// Returns the distinct tokens of a text, or of all texts in a list, in order. Returns none for other values.
    package static func tokens(of value: FieldValue) -> [String] {
        switch value {
        case .string(let text): return tokens(of: text)
        case .list(_, let elements):
            var seen: Set<String> = []
            return elements.flatMap { tokens(of: $0) }.filter { seen.insert($0).inserted }
        default: return []
        }
    }

    package static let longestToken = 128

    private struct Collector {
        var tokens: [String] = []
        private var seen: Set<String> = []

        mutating func add(_ bytes: [UInt8]) {
            guard !bytes.isEmpty else { return }
            var end = min(bytes.count, longestToken)
            // Moves the end back to a character boundary.
            while end < bytes.count, end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
            let token = String(decoding: bytes[..<end], as: UTF8.self)
            guard !stopWords.contains(token), seen.insert(token).inserted else { return }
            tokens.append(token)
        }
    }

    private static func isWordASCII(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10
    }

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber:
            true
        // Vowel signs of Indic scripts are part of a word, not diacritics.
        case .spacingMark: true
        default: false
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: true
        default: false
        }
    }
}
