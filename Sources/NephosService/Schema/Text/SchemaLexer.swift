/// One token of the CloudKit Schema Language.
struct SchemaToken: Equatable {
    enum Kind: Equatable {
        /// A keyword or a name: a letter, then letters, digits and underscores.
        case word
        /// A name in double quotes. The token's text excludes the quotes.
        case quoted
        case symbol
        /// `-- nephos:`, which begins a comment for Apple's tools.
        case pragma
        /// A character that begins no other token.
        case other
        case end
    }

    var kind: Kind
    var text: String
    var position: SchemaPosition

    /// Whether the token is the keyword. Keywords are case-insensitive.
    func isKeyword(_ keyword: String) -> Bool {
        kind == .word && ASCIIFolding.equal(text, keyword)
    }

    func isSymbol(_ symbol: String) -> Bool { kind == .symbol && text == symbol }
}

enum ASCIIFolding {
    /// Whether two words are equal, ignoring the case of ASCII letters.
    static func equal(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count && zip(left.utf8, right.utf8).allSatisfy { upper($0) == upper($1) }
    }

    private static func upper(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") ? byte - 0x20 : byte
    }
}

/// Splits the text of a schema into tokens in one pass. Tokens are separated by white space and comments (`//` and `--`
/// to the end of the line, `/* */`), except pragmas (`-- nephos:`).
struct SchemaLexer {
    private let bytes: [UInt8]
    private var offset = 0
    private var line = 1
    private var column = 1

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func next() throws(SchemaSyntaxError) -> SchemaToken {
        try skipSeparators()
        let position = SchemaPosition(line: line, column: column)
        if acceptPragma() { return SchemaToken(kind: .pragma, text: Self.pragma, position: position) }
        guard let byte = peek() else { return SchemaToken(kind: .end, text: "", position: position) }
        switch byte {
        case UInt8(ascii: "\""):
            return try quoted(position)
        case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "<"),
            UInt8(ascii: ">"):
            advance()
            return SchemaToken(kind: .symbol, text: String(UnicodeScalar(byte)), position: position)
        default:
            return Self.isNamePart(byte) ? word(position) : other(position)
        }
    }

    private mutating func word(_ position: SchemaPosition) -> SchemaToken {
        let start = offset
        while let byte = peek(), Self.isNamePart(byte) { advance() }
        let kind: SchemaToken.Kind = Self.isLetter(bytes[start]) ? .word : .other
        return SchemaToken(kind: kind, text: text(from: start, to: offset), position: position)
    }

    private mutating func other(_ position: SchemaPosition) -> SchemaToken {
        let start = offset
        advance()
        while let byte = peek(), byte & 0xC0 == 0x80 { advance() }
        return SchemaToken(kind: .other, text: text(from: start, to: offset), position: position)
    }

    private mutating func quoted(_ position: SchemaPosition) throws(SchemaSyntaxError) -> SchemaToken {
        advance()
        let start = offset
        while let byte = peek() {
            if byte == UInt8(ascii: "\"") {
                let name = text(from: start, to: offset)
                advance()
                return SchemaToken(kind: .quoted, text: name, position: position)
            }
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { break }
            advance()
        }
        throw SchemaSyntaxError(
            position: SchemaPosition(line: line, column: column),
            found: peek() == nil ? "<EOF>" : "the end of the line", expected: ["\"\\\"\""],
            advice: "the name that begins at \(position) is not closed")
    }

    // MARK: - Separators

    private mutating func skipSeparators() throws(SchemaSyntaxError) {
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), 0x0B, 0x0C:
                advance()
            case UInt8(ascii: "-") where peek(1) == byte && pragmaLength != nil:
                return
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"), UInt8(ascii: "-") where peek(1) == byte:
                while let byte = peek(), byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { advance() }
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"):
                try skipBlockComment()
            case 0xEF where line == 1 && offset == 0 && peek(1) == 0xBB && peek(2) == 0xBF:
                // Skip a byte order mark, which editors on Windows write.
                offset = 3
            default:
                return
            }
        }
    }

    private mutating func skipBlockComment() throws(SchemaSyntaxError) {
        let start = SchemaPosition(line: line, column: column)
        advance()
        advance()
        while let byte = peek() {
            if byte == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
                advance()
                advance()
                return
            }
            advance()
        }
        throw SchemaSyntaxError(
            position: SchemaPosition(line: line, column: column), found: "<EOF>", expected: ["\"*/\""],
            advice: "the comment that begins at \(start) is not closed")
    }

    // MARK: - Pragmas

    /// The prefix of a line that is a comment for Apple's tools and part of the schema for this service.
    static let pragma = "-- nephos:"

    /// The length, in bytes, of the pragma prefix at the current position; nil at an ordinary comment.
    private var pragmaLength: Int? {
        var end = offset + 2
        while end < bytes.count, bytes[end] == UInt8(ascii: " ") || bytes[end] == UInt8(ascii: "\t") { end += 1 }
        let word = "nephos:".utf8
        return bytes[min(end, bytes.count)...].starts(with: word) ? end + word.count - offset : nil
    }

    private mutating func acceptPragma() -> Bool {
        guard peek() == UInt8(ascii: "-"), peek(1) == UInt8(ascii: "-"), let length = pragmaLength else { return false }
        for _ in 0..<length { advance() }
        return true
    }

    // MARK: - Bytes

    private func peek(_ distance: Int = 0) -> UInt8? {
        offset + distance < bytes.count ? bytes[offset + distance] : nil
    }

    private mutating func advance() {
        let byte = bytes[offset]
        offset += 1
        if byte == UInt8(ascii: "\n") || (byte == UInt8(ascii: "\r") && peek() != UInt8(ascii: "\n")) {
            line += 1
            column = 1
        } else if byte & 0xC0 != 0x80 {
            column += 1
        }
    }

    private func text(from start: Int, to end: Int) -> String { String(decoding: bytes[start..<end], as: UTF8.self) }

    static func isLetter(_ byte: UInt8) -> Bool {
        (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
    }

    static func isNamePart(_ byte: UInt8) -> Bool {
        isLetter(byte) || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")) || byte == UInt8(ascii: "_")
    }
}
