import CSimdJSON

/// Finds the first syntax error of a document that simdjson refused, for the path, reason and offset in the error.
struct JSONDiagnosis {
    private enum Step {
        case member(String)
        case element(Int)
    }

    private let bytes: UnsafeRawBufferPointer
    private var index = 0
    private var steps: [Step] = []

    /// Returns the error for `bytes`. Uses `message`, simdjson's own, for a document that simdjson refused for another
    /// reason than its syntax.
    static func explain(_ bytes: UnsafeRawBufferPointer, message: String) -> WireError {
        var diagnosis = JSONDiagnosis(bytes: bytes)
        do throws(WireError) {
            if let offset = firstInvalidUTF8(in: bytes) {
                diagnosis.index = offset
                throw diagnosis.notJSON("invalid UTF-8")
            }
            try diagnosis.value()
            diagnosis.skipSpace()
            if diagnosis.index < bytes.count { throw diagnosis.unexpected("nothing behind the document's end") }
        } catch {
            return error
        }
        return WireError(reason: "not valid JSON: \(message)")
    }

    private init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    // MARK: Grammar

    private mutating func value() throws(WireError) {
        skipSpace()
        switch byte {
        case UInt8(ascii: "{"):
            try container(closedBy: "}") { (self, _) throws(WireError) in
                guard self.byte == UInt8(ascii: "\"") else { throw self.unexpected("a key in double quotes") }
                self.steps.append(.member(try self.string()))
                self.skipSpace()
                guard self.byte == UInt8(ascii: ":") else { throw self.unexpected("':'") }
                self.index += 1
            }
        case UInt8(ascii: "["): try container(closedBy: "]") { $0.steps.append(.element($1)) }
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        default:
            let literal = ["true", "false", "null"].first { bytes[index...].starts(with: $0.utf8) }
            guard let literal else { throw unexpected("a value") }
            index += literal.utf8.count
        }
    }

    /// Parses an object or an array.
    /// - Parameter begin: parses the text before a value, and appends the value's step to the path.
    private mutating func container(
        closedBy close: UnicodeScalar, begin: (inout JSONDiagnosis, Int) throws(WireError) -> Void
    ) throws(WireError) {
        guard steps.count < Int(CSIMDJSON_MAX_DEPTH) else {
            throw WireError(path: path, reason: "nested deeper than \(CSIMDJSON_MAX_DEPTH) levels")
        }
        var offset = 0
        repeat {
            index += 1
            skipSpace()
            if offset == 0, byte == UInt8(ascii: close) { break }
            try begin(&self, offset)
            try value()
            steps.removeLast()
            skipSpace()
            offset += 1
        } while byte == UInt8(ascii: ",")
        guard byte == UInt8(ascii: close) else { throw unexpected("',' or '\(close)'") }
        index += 1
    }

    /// Parses a string. Returns its text with its escapes.
    private mutating func string() throws(WireError) -> String {
        let start = index
        index += 1
        while index < bytes.count {
            index = JSONEscape.firstSpecial(in: bytes, from: index)
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                return String(decoding: bytes[(start + 1)..<(index - 1)], as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let length = lengthOfEscape() else { throw notJSON("a malformed escape in a string") }
                index += length
            case _ where index < bytes.count: throw notJSON("a control character in a string must be escaped")
            default: break
            }
        }
        index = start
        throw notJSON("a string that does not end")
    }

    /// Returns the length of the escape at `index`; nil for a malformed escape, such as a lone surrogate.
    private func lengthOfEscape() -> Int? {
        if let unit = codeUnit(at: index) {
            guard unit & 0xF800 == 0xD800 else { return 6 }
            guard unit < 0xDC00, let low = codeUnit(at: index + 6), low & 0xFC00 == 0xDC00 else { return nil }
            return 12
        }
        return index + 1 < bytes.count && "\"\\/bfnrt".utf8.contains(bytes[index + 1]) ? 2 : nil
    }

    private func codeUnit(at index: Int) -> UInt16? {
        guard index + 6 <= bytes.count, bytes[index...].starts(with: "\\u".utf8) else { return nil }
        let digits = bytes[(index + 2)..<(index + 6)]
        guard digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else { return nil }
        return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    private mutating func number() throws(WireError) {
        guard let (end, _) = JSONNumber.scan(bytes, from: index) else { throw notJSON("a malformed number") }
        guard JSONNumber.double(UnsafeRawBufferPointer(rebasing: bytes[index..<end])) != nil else {
            throw WireError(path: path, reason: "a number too large for DOUBLE")
        }
        index = end
    }

    // MARK: Helpers

    /// The next byte; 0 at the end.
    private var byte: UInt8 { index < bytes.count ? bytes[index] : 0 }

    private mutating func skipSpace() {
        while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
    }

    private var path: String {
        steps.reduce("") { path, step in
            switch step {
            case .member(let name): WirePath.appending(member: name, to: path)
            case .element(let index): WirePath.appending(index: index, to: path)
            }
        }
    }

    private func unexpected(_ expected: String) -> WireError {
        guard index < bytes.count else { return notJSON("expected \(expected), found the end") }
        let scalar = UnicodeScalar(bytes[index])
        let found = scalar.isASCII && scalar.value > 0x20 ? "'\(Character(scalar))'" : "byte \(bytes[index])"
        return notJSON("expected \(expected), found \(found)")
    }

    private func notJSON(_ problem: String) -> WireError {
        WireError(path: path, reason: "not valid JSON: \(problem) at byte \(index)")
    }

    private static func firstInvalidUTF8(in bytes: UnsafeRawBufferPointer) -> Int? {
        var decoder = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var offset = 0
        while true {
            switch decoder.parseScalar(from: &iterator) {
            case .valid(let scalar): offset += scalar.count
            case .error: return offset
            case .emptyInput: return nil
            }
        }
    }
}
