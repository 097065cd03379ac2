/// Scans stored fields in place: no tape, no allocation per field.
///
/// The scanner accepts only the JSON that `RecordFields.encoded()` writes: no spaces, names ascending, every field an
/// object. Anything else sets `isForeign`, and `RecordFields` then decodes the whole JSON. `next` finds fields, and
/// `nextToken` finds fields with their values.
package struct FieldScanner {
    /// A field's position in the bytes.
    struct Slice {
        /// The range of the field's name between the quotes, with its escapes.
        var name: Range<Int>
        var hasEscapes: Bool
        /// The range of the field dictionary, braces included.
        var value: Range<Int>
        /// The range from the name's opening quote to the value's end.
        var whole: Range<Int> { (name.lowerBound - 1)..<value.upperBound }
    }

    let bytes: UnsafeRawBufferPointer
    /// Whether the bytes contain JSON that `RecordFields.encoded()` does not write, or that `nextToken` cannot read.
    package private(set) var isForeign = false
    var index = 1
    private var previousName = UnsafeRawBufferPointer(start: nil, count: 0)
    private var previousDecoded: [UInt8]?

    package init(_ fields: UnsafeRawBufferPointer) {
        bytes = fields
        isForeign = fields.count < 2 || fields[0] != UInt8(ascii: "{")
    }

    /// Returns the next field; nil at the end, or if the bytes are foreign.
    mutating func next() -> Slice? {
        advance { scanner in
            guard let slice = scanner.slice(), scanner.isAscending(slice) else { return nil }
            return slice
        }
    }

    /// Returns the next field with its value; nil at the end, or if the bytes are foreign.
    package mutating func nextToken() -> Token? { advance { $0.token() } }

    @inline(__always)
    private mutating func advance<Field>(_ scan: (inout FieldScanner) -> Field?) -> Field? {
        guard !isForeign else { return nil }
        if byte == UInt8(ascii: "}") {
            isForeign = index + 1 != bytes.count
            return nil
        }
        let field = scan(&self)
        if field == nil { isForeign = true }
        return field
    }

    /// Returns the positions of all fields; nil for foreign bytes.
    static func slices(of bytes: UnsafeRawBufferPointer) -> [Slice]? {
        var scanner = FieldScanner(bytes)
        var slices: [Slice] = []
        while let slice = scanner.next() { slices.append(slice) }
        return scanner.isForeign ? nil : slices
    }

    /// Compares the field's name with `name`: negative, zero or positive if the field's name sorts before, with or
    /// after it.
    func order(of slice: Slice, comparedTo name: UnsafeRawBufferPointer) -> Int {
        let raw = UnsafeRawBufferPointer(rebasing: bytes[slice.name])
        guard slice.hasEscapes, let decoded = Self.unescape(raw) else { return compareBytes(raw, name) }
        return decoded.withUnsafeBytes { compareBytes($0, name) }
    }

    // MARK: Scanning

    /// The next byte; 0 at the end.
    var byte: UInt8 { index < bytes.count ? bytes[index] : 0 }

    @inline(__always)
    mutating func take(_ literal: StaticString) -> Bool {
        let count = literal.utf8CodeUnitCount
        guard bytes.count - index >= count, let start = bytes.baseAddress,
            equalBytes(start.assumingMemoryBound(to: UInt8.self) + index, literal.utf8Start, count)
        else { return false }
        index += count
        return true
    }

    private mutating func slice() -> Slice? {
        if index > 1, !take(",") { return nil }
        guard take("\"") else { return nil }
        let nameStart = index
        guard let hasEscapes = skipString() else { return nil }
        let name = nameStart..<(index - 1)
        let valueStart = index + 1
        guard take(":"), byte == UInt8(ascii: "{"), skipContainer() else { return nil }
        return Slice(name: name, hasEscapes: hasEscapes, value: valueStart..<index)
    }

    /// Skips a string and its closing quote. Returns whether the string has escapes, or nil if it is unterminated.
    private mutating func skipString() -> Bool? {
        var hasEscapes = false
        while true {
            index = JSONEscape.firstSpecial(in: bytes, from: index)
            switch byte {
            case UInt8(ascii: "\"") where index < bytes.count:
                index += 1
                return hasEscapes
            case UInt8(ascii: "\\"):
                hasEscapes = true
                index += 2
                if index > bytes.count { return nil }
            default: return nil
            }
        }
    }

    /// Skips an object or array and its closing bracket. Returns false if it is unterminated.
    private mutating func skipContainer() -> Bool {
        var depth = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard skipString() != nil else { return false }
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return true }
            default: break
            }
        }
        return false
    }

    private mutating func isAscending(_ slice: Slice) -> Bool {
        let raw = UnsafeRawBufferPointer(rebasing: bytes[slice.name])
        var decoded: [UInt8]?
        if slice.hasEscapes {
            decoded = Self.unescape(raw)
            guard decoded != nil else { return false }
        }
        defer {
            previousName = raw
            previousDecoded = decoded
        }
        guard slice.name.lowerBound > 2 else { return true }
        let previous = previousDecoded ?? []
        func compare(_ name: UnsafeRawBufferPointer) -> Int {
            previousDecoded == nil
                ? compareBytes(previousName, name) : previous.withUnsafeBytes { compareBytes($0, name) }
        }
        return (decoded.map { $0.withUnsafeBytes(compare) } ?? compare(raw)) < 0
    }

    /// Unescapes a string with the escapes that `JSONWriter` writes; nil for other escapes.
    private static func unescape(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        var result: [UInt8] = []
        var index = 0
        while index < text.count {
            guard text[index] == UInt8(ascii: "\\") else {
                result.append(text[index])
                index += 1
                continue
            }
            guard index + 1 < text.count else { return nil }
            switch text[index + 1] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): result.append(text[index + 1])
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "u"):
                guard index + 6 <= text.count,
                    let code = UInt8(String(decoding: text[(index + 2)..<(index + 6)], as: UTF8.self), radix: 16),
                    code < 0x20
                else { return nil }
                result.append(code)
                index += 4
            default: return nil
            }
            index += 2
        }
        return result
    }
}
