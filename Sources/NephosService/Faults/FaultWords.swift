/// The words of a fault's text. A value that has spaces or quotation marks, or is empty, stands in quotation marks, in which
/// a backslash precedes quotation marks and backslashes, `\n` and `\r` are line breaks, and `\u{9}` is the control character
/// of that number.
package enum FaultWords {
    /// A word of a text without its quotation marks, and whether it had some.
    struct Word {
        var text = String.UnicodeScalarView()
        var isQuoted = false
    }

    /// Returns `KEY=VALUE`, with the value quoted where it has to be.
    static func pair(_ key: String, _ value: String) -> String { "\(key)=" + quotedIfNeeded(value) }

    private static func isPlain(_ value: String) -> Bool {
        !value.isEmpty
            && value.unicodeScalars.allSatisfy { !$0.properties.isWhitespace && $0 != "\"" && !isControl($0) }
    }

    /// Whether a terminal could act on a character in place of showing it.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    private static func quotedIfNeeded(_ value: String) -> String {
        if isPlain(value) { return value }
        var quoted = String.UnicodeScalarView("\"".unicodeScalars)
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\n": quoted.append(contentsOf: "\\n".unicodeScalars)
            case "\r": quoted.append(contentsOf: "\\r".unicodeScalars)
            case "\"", "\\":
                quoted.append("\\")
                quoted.append(scalar)
            case _ where isControl(scalar):
                quoted.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            default: quoted.append(scalar)
            }
        }
        quoted.append("\"")
        return String(quoted)
    }

    /// Returns the text of a fault whose words a shell has split, and whose values are without quotation marks.
    package static func text(ofArguments arguments: [String]) -> String {
        if arguments.count == 1 { return arguments[0] }
        return arguments.map { argument in
            // By scalars: a mark after the sign would be one character with it.
            let parts = argument.unicodeScalars.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { String($0) }
            guard parts.count == 2, isPlain(parts[0]), !parts[1].isEmpty, !parts[1].hasPrefix("\"") else {
                return argument
            }
            return pair(parts[0], parts[1])
        }.joined(separator: " ")
    }

    /// Splits a text at whitespace outside of quotation marks.
    /// - Throws: `ServiceError` for a quotation mark that nothing closes.
    static func split(_ text: String) throws(ServiceError) -> [Word] {
        var (words, word): ([Word], Word?) = ([], nil)
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            if scalar.properties.isWhitespace {
                if let whole = word { words.append(whole) }
                word = nil
            } else if scalar == "\"", word?.text.last == "=" {
                word?.isQuoted = true
                try readQuoted(&scalars, into: &word)
            } else {
                word = word ?? Word()
                word?.text.append(scalar)
            }
        }
        if let word { words.append(word) }
        return words
    }

    /// Reads `{9}`, the number of a character; nil, and nothing is read, if no brace follows.
    private static func number(
        _ scalars: inout String.UnicodeScalarView.Iterator
    ) throws(ServiceError) -> Unicode.Scalar? {
        var (rest, digits) = (scalars, "")
        guard rest.next() == "{" else { return nil }
        while let scalar = rest.next(), digits.count < 7 {
            guard scalar == "}" else {
                digits.unicodeScalars.append(scalar)
                continue
            }
            // `UInt32` takes a sign, too.
            guard digits.first != "+", let scalar = UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init) else {
                break
            }
            scalars = rest
            return scalar
        }
        throw .invalid(
            "a fault's text has a \\u{…} that is the number of no character: up to six hexadecimal digits stand in the braces"
        )
    }

    private static func readQuoted(
        _ scalars: inout String.UnicodeScalarView.Iterator, into word: inout Word?
    ) throws(ServiceError) {
        while let scalar = scalars.next() {
            switch scalar {
            case "\"": return
            case "\\":
                guard let escaped = scalars.next() else { break }
                if escaped == "u", let control = try number(&scalars) {
                    word?.text.append(control)
                } else {
                    word?.text.append(escaped == "n" ? "\n" : escaped == "r" ? "\r" : escaped)
                }
            default: word?.text.append(scalar)
            }
        }
        throw .invalid("a fault's text has a quotation mark too many: \\\" is one in a value")
    }
}
