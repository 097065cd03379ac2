import FoundationEssentials

/// A syntax error in a predicate's format: the expected token, its position, and the found text.
package struct PredicateFormatError: Error, Hashable, Sendable, CustomStringConvertible {
    package var format: String
    /// The error's position in the format, in Unicode scalars.
    package var position: Int
    package var expected: String
    package var found: String

    package var description: String {
        "Unable to parse the predicate format \"\(format)\": expected \(expected) at position \(position), found \(found)"
    }
}

enum PredicateKeyword: String {
    case and, or, not, any, some, all, none, `in`, between, contains, beginswith, endswith, like, matches
    case tokenmatches, truepredicate, falsepredicate, null, `nil`, `true`, `false`, yes, no, `self`, cast, subquery

    private static let names = Dictionary(
        uniqueKeysWithValues: [
            and, or, not, any, some, all, none, .in, between, contains, beginswith, endswith, like, matches,
            tokenmatches, truepredicate, falsepredicate, null, .nil, .true, .false, yes, no, .`self`, cast, subquery,
        ].map { ($0.rawValue, $0) })

    static func named(_ name: String) -> PredicateKeyword? { names[name.lowercased()] }
}

enum PredicateToken: Hashable {
    case keyword(PredicateKeyword)
    /// A key or a path of keys.
    case identifier(String)
    /// A function's name with its colons.
    case selector(String)
    case string(String)
    case number(PredicateValue)
    /// The argument that replaces a placeholder.
    case argument(PredicateOperand)
    case variable(String)
    case symbol(Symbol)
    case end

    enum Symbol: String {
        case openParenthesis = "("
        case closeParenthesis = ")"
        case openBrace = "{"
        case closeBrace = "}"
        case openBracket = "["
        case closeBracket = "]"
        case comma = ","
        case equals = "=="
        case notEquals = "!="
        case lessThan = "<"
        case lessThanOrEquals = "<="
        case greaterThan = ">"
        case greaterThanOrEquals = ">="
        case and = "&&"
        case or = "||"
        case not = "!"
        case plus = "+"
        case minus = "-"
        case times = "*"
        case divided = "/"
        case power = "**"
    }
}

/// Splits a predicate's format into tokens and inserts the arguments, in linear time.
struct PredicateLexer {
    private let format: String
    private let bytes: [UInt8]
    private var index = 0
    private let arguments: [PredicateValue]
    private var nextArgument = 0
    /// The index at which the token that `next()` returned last starts.
    private(set) var tokenStart = 0

    init(_ format: String, _ arguments: [PredicateValue]) {
        self.format = format
        bytes = Array(format.utf8)
        self.arguments = arguments
    }

    private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

    private func byte(after offset: Int) -> UInt8? {
        index + offset < bytes.count ? bytes[index + offset] : nil
    }

    // MARK: Errors

    func failure(_ expected: String, found: String? = nil, at position: Int? = nil) -> PredicateFormatError {
        let position = position ?? index
        return PredicateFormatError(
            format: format, position: String(decoding: bytes[..<position], as: UTF8.self).unicodeScalars.count,
            expected: expected, found: found ?? excerpt(position))
    }

    /// Returns the text from `position`, truncated for an error message.
    private func excerpt(_ position: Int) -> String {
        guard position < bytes.count else { return "the end" }
        let text = String(decoding: bytes[position..<min(position + 120, bytes.count)], as: UTF8.self)
        return "\"\(text.prefix(20))\(text.count > 20 ? "…" : "")\""
    }

    // MARK: Tokens

    mutating func next() throws(PredicateFormatError) -> PredicateToken {
        skipSpace()
        tokenStart = index
        guard let byte else { return .end }
        switch byte {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try quoted(byte))
        case UInt8(ascii: "%"): return .argument(try placeholder())
        case UInt8(ascii: "$"):
            index += 1
            guard let name = word() else { throw failure("a variable's name") }
            return .variable(name)
        case UInt8(ascii: "#"):
            index += 1
            guard let name = word() else { throw failure("a key after \"#\"") }
            return .identifier(try path(from: name))
        case _ where Self.startsWord(byte): return try wordToken()
        case _ where Self.isDigit(byte): return .number(try number())
        case UInt8(ascii: ".") where self.byte(after: 1).map(Self.isDigit) == true: return .number(try number())
        default: return .symbol(try symbol())
        }
    }

    /// Parses the letters in brackets directly after an operator.
    mutating func options() throws(PredicateFormatError) -> PredicateComparison.Options {
        skipSpace()
        guard byte == UInt8(ascii: "[") else { return [] }
        index += 1
        var options: PredicateComparison.Options = []
        while let letter = byte, letter != UInt8(ascii: "]") {
            switch letter | 0x20 {
            case UInt8(ascii: "c"): options.insert(.caseInsensitive)
            case UInt8(ascii: "d"): options.insert(.diacriticInsensitive)
            case UInt8(ascii: "n"): options.insert(.normalized)
            case UInt8(ascii: "l"): options.insert(.localeSensitive)
            default: throw failure("one of the options c, d, n and l, or \"]\"")
            }
            index += 1
        }
        guard byte != nil else { throw failure("\"]\"") }
        index += 1
        return options
    }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || (0x09...0x0D).contains(byte) { index += 1 }
    }

    private mutating func symbol() throws(PredicateFormatError) -> PredicateToken.Symbol {
        let pair: PredicateToken.Symbol? =
            switch (bytes[index], byte(after: 1)) {
            case (UInt8(ascii: "="), UInt8(ascii: "=")?): .equals
            case (UInt8(ascii: "="), UInt8(ascii: "<")?): .lessThanOrEquals
            case (UInt8(ascii: "="), UInt8(ascii: ">")?): .greaterThanOrEquals
            case (UInt8(ascii: "<"), UInt8(ascii: "=")?): .lessThanOrEquals
            case (UInt8(ascii: "<"), UInt8(ascii: ">")?): .notEquals
            case (UInt8(ascii: ">"), UInt8(ascii: "=")?): .greaterThanOrEquals
            case (UInt8(ascii: "!"), UInt8(ascii: "=")?): .notEquals
            case (UInt8(ascii: "&"), UInt8(ascii: "&")?): .and
            case (UInt8(ascii: "|"), UInt8(ascii: "|")?): .or
            case (UInt8(ascii: "*"), UInt8(ascii: "*")?): .power
            default: nil
            }
        if let pair {
            index += 2
            return pair
        }
        let single: PredicateToken.Symbol? =
            bytes[index] == UInt8(ascii: "=")
            ? .equals : PredicateToken.Symbol(rawValue: String(UnicodeScalar(bytes[index])))
        guard let single else { throw failure("a key, a value or an operator") }
        index += 1
        return single
    }

    // MARK: Words

    private static func startsWord(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte == UInt8(ascii: "_") || byte >= 0x80
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    private mutating func word() -> String? {
        let start = index
        guard let first = byte, Self.startsWord(first) else { return nil }
        while let byte, Self.startsWord(byte) || Self.isDigit(byte) { index += 1 }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func wordToken() throws(PredicateFormatError) -> PredicateToken {
        guard let first = word() else { throw failure("a key") }
        if byte == UInt8(ascii: ":"), byte(after: 1) != UInt8(ascii: "=") { return .selector(selector(from: first)) }
        if let keyword = PredicateKeyword.named(first) {
            guard keyword == .`self`, byte == UInt8(ascii: ".") else { return .keyword(keyword) }
            // `SELF.name` is equivalent to `name`.
            index += 1
            guard let name = word() else { throw failure("a key after \"SELF.\"") }
            return .identifier(try path(from: name))
        }
        return .identifier(try path(from: first))
    }

    /// Reads the rest of a function's name with colons, such as `distanceToLocation:fromLocation:`.
    private mutating func selector(from first: String) -> String {
        var name = first + ":"
        index += 1
        while true {
            let start = index
            guard let part = word(), byte == UInt8(ascii: ":") else {
                index = start
                return name
            }
            name += part + ":"
            index += 1
        }
    }

    /// Reads the rest of a path of keys, such as `owner.address.city`.
    private mutating func path(from first: String) throws(PredicateFormatError) -> String {
        var path = first
        while byte == UInt8(ascii: ".") {
            index += 1
            path += "."
            if byte == UInt8(ascii: "@") {
                path += "@"
                index += 1
            } else if byte == UInt8(ascii: "#") {
                index += 1
            }
            guard let part = word() else { throw failure("a key after \".\"") }
            path += part
        }
        return path
    }

    // MARK: Literals

    private mutating func quoted(_ quote: UInt8) throws(PredicateFormatError) -> String {
        let start = index
        index += 1
        var text: [UInt8] = []
        while let byte, byte != quote {
            index += 1
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            guard let escaped = self.byte else { break }
            index += 1
            switch escaped {
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "a"): text.append(0x07)
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "v"): text.append(0x0B)
            case UInt8(ascii: "x"): try appendScalar(digits: 2, to: &text)
            case UInt8(ascii: "u"): try appendScalar(digits: 4, to: &text)
            case UInt8(ascii: "U"): try appendScalar(digits: 8, to: &text)
            default: text.append(escaped)
            }
        }
        guard byte == quote else {
            throw failure("the quote that ends the string", found: "the end", at: start)
        }
        index += 1
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func appendScalar(digits: Int, to text: inout [UInt8]) throws(PredicateFormatError) {
        let end = index + digits
        guard end <= bytes.count, bytes[index..<end].allSatisfy({ Self.hexadecimal($0) != nil }),
            let code = UInt32(String(decoding: bytes[index..<end], as: UTF8.self), radix: 16),
            let scalar = Unicode.Scalar(code)
        else { throw failure("\(digits) hexadecimal digits of a Unicode scalar") }
        index = end
        text.append(contentsOf: String(scalar).utf8)
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): (byte | 0x20) - 0x61 + 10
        default: nil
        }
    }

    private mutating func number() throws(PredicateFormatError) -> PredicateValue {
        let start = index
        if byte == UInt8(ascii: "0"), let radix = Self.radix(byte(after: 1)) {
            index += 2
            let digits = index
            while let byte, Self.hexadecimal(byte) != nil { index += 1 }
            guard let value = Int64(String(decoding: bytes[digits..<index], as: UTF8.self), radix: radix) else {
                throw failure("a number", at: start)
            }
            return .integer(value)
        }
        var isWhole = true
        skipDigits()
        if byte == UInt8(ascii: "."), byte(after: 1).map(Self.isDigit) == true {
            isWhole = false
            index += 1
            skipDigits()
        }
        if let exponent = byte, exponent | 0x20 == UInt8(ascii: "e") {
            let sign = byte(after: 1) == UInt8(ascii: "-") || byte(after: 1) == UInt8(ascii: "+")
            if byte(after: sign ? 2 : 1).map(Self.isDigit) == true {
                isWhole = false
                index += sign ? 2 : 1
                skipDigits()
            }
        }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        if isWhole, let value = Int64(text) { return .integer(value) }
        guard let value = Double(text), value.isFinite else { throw failure("a number", at: start) }
        return .double(value)
    }

    private static func radix(_ letter: UInt8?) -> Int? {
        switch letter {
        case UInt8(ascii: "x"), UInt8(ascii: "X"): 16
        case UInt8(ascii: "o"): 8
        case UInt8(ascii: "b"): 2
        default: nil
        }
    }

    private mutating func skipDigits() {
        while let byte, Self.isDigit(byte) { index += 1 }
    }

    // MARK: Placeholders

    /// Reads a placeholder, such as `%@`, `%K`, `%d`, `%lld` or `%.2f`, and returns the next argument.
    private mutating func placeholder() throws(PredicateFormatError) -> PredicateOperand {
        let start = index
        index += 1
        // Skips flags, width and precision, which have no meaning for a value that is not printed.
        while let byte, Self.isDigit(byte) || "-+ .#".utf8.contains(byte) { index += 1 }
        while let byte, "hlqzjtL".utf8.contains(byte) { index += 1 }
        guard let conversion = byte else { throw failure("%@, %K, %d, %f or another placeholder", at: start) }
        index += 1
        switch conversion {
        case UInt8(ascii: "@"): return .constant(try argument("%@", at: start))
        case UInt8(ascii: "K"):
            let argument = try argument("%K", at: start)
            guard case .string(let key) = argument, !key.isEmpty else {
                throw failure("the name of a field for %K", found: argument.kind, at: start)
            }
            return key.lowercased() == "self" ? .evaluatedObject : .key(key)
        case UInt8(ascii: "d"), UInt8(ascii: "D"), UInt8(ascii: "i"), UInt8(ascii: "u"), UInt8(ascii: "U"),
            UInt8(ascii: "o"), UInt8(ascii: "O"), UInt8(ascii: "x"), UInt8(ascii: "X"), UInt8(ascii: "c"),
            UInt8(ascii: "C"):
            // Accepts %lud too, because some apps write it instead of %lu.
            if conversion == UInt8(ascii: "u"), byte == UInt8(ascii: "d"), byte(after: 1).map(Self.startsWord) != true {
                index += 1
            }
            return .constant(try wholeNumber(at: start))
        case UInt8(ascii: "f"), UInt8(ascii: "F"), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "g"),
            UInt8(ascii: "G"), UInt8(ascii: "a"), UInt8(ascii: "A"):
            let argument = try argument("a number", at: start)
            guard let number = argument.number else { throw failure("a number", found: argument.kind, at: start) }
            return .constant(.double(number))
        case UInt8(ascii: "s"), UInt8(ascii: "S"):
            let argument = try argument("a string", at: start)
            guard case .string = argument else { throw failure("a string", found: argument.kind, at: start) }
            return .constant(argument)
        default:
            throw failure("%@, %K, %d, %f or another placeholder", at: start)
        }
    }

    private mutating func wholeNumber(at start: Int) throws(PredicateFormatError) -> PredicateValue {
        let argument = try argument("a whole number", at: start)
        switch argument {
        case .integer, .unsigned, .bool: return argument
        case .double(let value):
            guard let whole = Int64(exactly: value.rounded(.towardZero)) else { break }
            return .integer(whole)
        case .string(let text):
            // A %c placeholder whose argument is a character.
            if let scalar = text.unicodeScalars.first, text.unicodeScalars.count == 1 {
                return .integer(Int64(scalar.value))
            }
        default: break
        }
        throw failure("a whole number", found: argument.kind, at: start)
    }

    private mutating func argument(_ expected: String, at start: Int) throws(PredicateFormatError) -> PredicateValue {
        guard nextArgument < arguments.count else {
            throw failure(
                "an argument for this placeholder, the \(nextArgument + 1). of the format",
                found: "\(arguments.count) arguments", at: start)
        }
        defer { nextArgument += 1 }
        return arguments[nextArgument]
    }
}
