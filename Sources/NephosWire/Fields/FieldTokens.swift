import CSimdJSON

/// Reads the fields of a record one after another where they are, without a parser's tape and without memory of its own.
///
/// It knows the JSON that `RecordFields.encoded()` writes, and of that what most fields are. Whatever else comes, it stops
/// as `isForeign`: then `RecordFields` has to decode the whole.
package struct FieldTokens {
    /// A field where it is. Texts are neither copied nor known to be UTF-8.
    package struct Token {
        package var name: UnsafeRawBufferPointer
        package var value: Value
        package var isEncrypted: Bool
    }

    package enum Value {
        case string(UnsafeRawBufferPointer)
        case strings(Strings)
        case int64(Int64)
        case double(Double)
        case timestamp(Timestamp)
        /// Base64.
        case bytes(UnsafeRawBufferPointer)
        /// To a record of the same zone.
        case reference(name: UnsafeRawBufferPointer, action: ReferenceValue.Action)
    }

    /// The elements of a list of strings.
    package struct Strings: Sequence, IteratorProtocol {
        package let count: Int
        fileprivate var rest: UnsafeRawBufferPointer

        package mutating func next() -> UnsafeRawBufferPointer? {
            guard rest.count > 1 else { return nil }
            // Each has its quotes, and what is between them was looked at.
            let end = JSONEscape.firstSpecial(in: rest, from: 1)
            let element = UnsafeRawBufferPointer(rebasing: rest[1..<end])
            rest = UnsafeRawBufferPointer(rebasing: rest[Swift.min(end + 2, rest.count)...])
            return element
        }
    }

    /// Whether something was found that has to be decoded in the other way.
    package private(set) var isForeign = false
    private let bytes: UnsafeRawBufferPointer
    private var index = 1

    package init(_ fields: UnsafeRawBufferPointer) {
        bytes = fields
        isForeign = fields.count < 2 || fields[0] != UInt8(ascii: "{")
    }

    /// The next field; nil at the end, or where the bytes turn out to be foreign.
    package mutating func next() -> Token? {
        guard !isForeign else { return nil }
        if byte == UInt8(ascii: "}") {
            isForeign = index + 1 != bytes.count
            return nil
        }
        guard let token = field() else {
            isForeign = true
            return nil
        }
        return token
    }

    // MARK: Reading

    private var byte: UInt8 { index < bytes.count ? bytes[index] : 0 }

    @inline(__always)
    private mutating func take(_ literal: StaticString) -> Bool {
        let count = literal.utf8CodeUnitCount
        guard bytes.count - index >= count, let start = bytes.baseAddress,
            equalBytes(start.assumingMemoryBound(to: UInt8.self) + index, literal.utf8Start, count)
        else { return false }
        index += count
        return true
    }

    /// A string that has no escapes.
    @inline(__always)
    private mutating func string() -> UnsafeRawBufferPointer? {
        guard byte == UInt8(ascii: "\"") else { return nil }
        let start = index + 1
        let end = JSONEscape.firstSpecial(in: bytes, from: start)
        guard end < bytes.count, bytes[end] == UInt8(ascii: "\"") else { return nil }
        index = end + 1
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }

    private mutating func field() -> Token? {
        if index > 1, !take(",") { return nil }
        guard let name = string(), take(":{\"value\":"), let value = value() else { return nil }
        let isEncrypted = take(",\"isEncrypted\":true")
        return take("}") ? Token(name: name, value: value, isEncrypted: isEncrypted) : nil
    }

    /// The value and its type.
    private mutating func value() -> Value? {
        switch byte {
        case UInt8(ascii: "\""):
            guard let text = string(), take(",\"type\":\"") else { return nil }
            if take("STRING\"") { return .string(text) }
            return take("BYTES\"") ? .bytes(text) : nil
        case UInt8(ascii: "{"):
            guard take("{\"recordName\":"), let name = string(), take(",\"action\":\""), let action = action(),
                take("\"},\"type\":\"REFERENCE\"")
            else { return nil }
            return .reference(name: name, action: action)
        case UInt8(ascii: "["):
            return strings()
        default:
            return number()
        }
    }

    private mutating func action() -> ReferenceValue.Action? {
        if take("NONE") { return ReferenceValue.Action.none }
        if take("DELETE_SELF") { return .deleteSelf }
        return take("VALIDATE") ? .validate : nil
    }

    private mutating func strings() -> Value? {
        index += 1
        let start = index
        var count = 0
        // An empty list does not say by itself of what it is.
        repeat {
            guard string() != nil else { return nil }
            count += 1
        } while take(",")
        let rest = UnsafeRawBufferPointer(rebasing: bytes[start..<index])
        return take("],\"type\":\"STRING_LIST\"") ? .strings(Strings(count: count, rest: rest)) : nil
    }

    private mutating func number() -> Value? {
        guard let (text, isInteger) = numberText(), take(",\"type\":\"") else { return nil }
        if take("DOUBLE\"") { return Self.double(text).map(Value.double) }
        guard isInteger, let whole = JSONNumber.int64(text) else { return nil }
        if take("INT64\"") { return .int64(whole) }
        guard take("TIMESTAMP\"") else { return nil }
        guard take(",\"nephosSeconds\":") else { return .timestamp(Timestamp(milliseconds: whole)) }
        guard let (text, _) = numberText(), let seconds = Self.double(text) else { return nil }
        return .timestamp(Timestamp(milliseconds: whole, seconds: seconds))
    }

    private mutating func numberText() -> (text: UnsafeRawBufferPointer, isInteger: Bool)? {
        guard let (end, isInteger) = JSONNumber.scan(bytes, from: index) else { return nil }
        defer { index = end }
        return (UnsafeRawBufferPointer(rebasing: bytes[index..<end]), isInteger)
    }

    /// The bytes of a value that says them in base64; nil where it does not.
    package static func decodedBase64(_ text: UnsafeRawBufferPointer) -> [UInt8]? { Base64.decode(text) }

    private static func double(_ text: UnsafeRawBufferPointer) -> Double? {
        var value = 0.0
        let start = text.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return csimdjson_read_double(start, text.count, &value) && value.isFinite ? value : nil
    }
}
