import CSimdJSON

/// Reads a document that simdjson refused, slowly, to say where and why.
struct JSONDiagnosis {
    private enum Step {
        case member(String)
        case element(Int)
    }

    private let bytes: UnsafeRawBufferPointer
    private var index = 0
    private var steps: [Step] = []
    /// Where each integer ends that 64 bits cannot hold.
    private var endsOfLargeIntegers: [Int] = []

    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The error for `bytes`; `message` is simdjson's, for when this reading finds nothing.
    static func explain(_ bytes: UnsafeRawBufferPointer, message: String) -> WireError {
        if let offset = firstInvalidUTF8(in: bytes) { return notJSON("invalid UTF-8", at: offset, path: "") }
        var diagnosis = JSONDiagnosis(bytes)
        do throws(WireError) {
            try diagnosis.document()
        } catch {
            return error
        }
        return WireError(reason: "not valid JSON: \(message)")
    }

    /// The document with `.0` behind every integer that 64 bits cannot hold; throws when it has none.
    static func fractionsForLargeIntegers(in bytes: UnsafeRawBufferPointer) throws(WireError) -> [UInt8] {
        var diagnosis = JSONDiagnosis(bytes)
        try diagnosis.document()
        guard !diagnosis.endsOfLargeIntegers.isEmpty else {
            throw WireError(reason: "not valid JSON: a number cannot be read")
        }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 2 * diagnosis.endsOfLargeIntegers.count)
        var copied = 0
        for end in diagnosis.endsOfLargeIntegers {
            result.append(contentsOf: bytes[copied..<end])
            result.append(contentsOf: ".0".utf8)
            copied = end
        }
        result.append(contentsOf: bytes[copied...])
        return result
    }

    // MARK: Grammar

    private mutating func document() throws(WireError) {
        try value()
        skipSpace()
        if index < bytes.count { throw unexpected("nothing behind the document's end") }
    }

    private mutating func value() throws(WireError) {
        skipSpace()
        switch byte {
        case UInt8(ascii: "{"): try object()
        case UInt8(ascii: "["): try array()
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        default: throw unexpected("a value")
        }
    }

    private mutating func object() throws(WireError) {
        try container(UInt8(ascii: "}")) { (self, _) throws(WireError) in
            guard self.byte == UInt8(ascii: "\"") else { throw self.unexpected("a key in double quotes") }
            self.steps.append(.member(try self.string()))
            self.skipSpace()
            guard self.byte == UInt8(ascii: ":") else { throw self.unexpected("':'") }
            self.index += 1
            try self.value()
            self.steps.removeLast()
        }
    }

    private mutating func array() throws(WireError) {
        try container(UInt8(ascii: "]")) { (self, offset) throws(WireError) in
            self.steps.append(.element(offset))
            try self.value()
            self.steps.removeLast()
        }
    }

    private mutating func container(
        _ close: UInt8, item: (inout JSONDiagnosis, Int) throws(WireError) -> Void
    ) throws(WireError) {
        guard steps.count < Int(CSIMDJSON_MAX_DEPTH) else {
            throw WireError(path: path, reason: "nested deeper than \(CSIMDJSON_MAX_DEPTH) levels")
        }
        index += 1
        skipSpace()
        if byte == close {
            index += 1
            return
        }
        var offset = 0
        while true {
            skipSpace()
            try item(&self, offset)
            offset += 1
            skipSpace()
            if byte == close {
                index += 1
                return
            }
            guard byte == UInt8(ascii: ",") else {
                throw unexpected("',' or '\(Character(UnicodeScalar(close)))'")
            }
            index += 1
        }
    }

    /// Reads a string; returns its text, escapes left as they are.
    private mutating func string() throws(WireError) -> String {
        let start = index
        index += 1
        while index < bytes.count {
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                return String(decoding: bytes[(start + 1)..<(index - 1)], as: UTF8.self)
            case UInt8(ascii: "\\"): try escape()
            case 0..<0x20: throw notJSON("a control character in a string must be escaped")
            default: index += 1
            }
        }
        index = start
        throw notJSON("a string that does not end")
    }

    private mutating func escape() throws(WireError) {
        let start = index
        index += 1
        switch byte {
        case UInt8(ascii: "u"):
            index -= 1
            let unit = codeUnit()
            guard let unit, unit & 0xF800 == 0xD800 else {
                guard unit == nil else { return }
                index = start
                throw notJSON("an escape with four hexadecimal digits was expected")
            }
            guard unit < 0xDC00, let low = codeUnit(), low & 0xFC00 == 0xDC00 else {
                index = start
                throw notJSON("half of a surrogate pair")
            }
        case _ where "\"\\/bfnrt".utf8.contains(byte): index += 1
        default:
            index = start
            throw notJSON("an unknown escape in a string")
        }
    }

    private mutating func codeUnit() -> UInt16? {
        guard index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u"),
            let unit = UInt16(String(decoding: bytes[(index + 2)..<(index + 6)], as: UTF8.self), radix: 16),
            bytes[index + 2] != UInt8(ascii: "+"), bytes[index + 2] != UInt8(ascii: "-")
        else { return nil }
        index += 6
        return unit
    }

    private mutating func literal(_ text: StaticString) throws(WireError) {
        let end = index + text.utf8CodeUnitCount
        guard end <= bytes.count,
            bytes[index..<end].elementsEqual(
                UnsafeBufferPointer(
                    start: text.utf8Start, count: text.utf8CodeUnitCount))
        else { throw unexpected("a value") }
        index = end
    }

    private mutating func number() throws(WireError) {
        guard let (end, isInteger) = JSONNumber.scan(bytes, from: index) else { throw notJSON("a malformed number") }
        let text = UnsafeRawBufferPointer(rebasing: bytes[index..<end])
        if isInteger, JSONNumber.int64(text) == nil, UInt64(String(decoding: text, as: UTF8.self)) == nil {
            endsOfLargeIntegers.append(end)
        }
        guard JSONNumber.double(text) != nil else {
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

    private func notJSON(_ problem: String) -> WireError { Self.notJSON(problem, at: index, path: path) }

    private static func notJSON(_ problem: String, at offset: Int, path: String) -> WireError {
        WireError(path: path, reason: "not valid JSON: \(problem) at byte \(offset)")
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
