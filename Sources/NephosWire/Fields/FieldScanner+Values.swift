import CSimdJSON

extension FieldScanner {
    /// A field with its value. Strings are neither copied nor validated as UTF-8.
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
        /// The base64 text of a BYTES value.
        case bytes(UnsafeRawBufferPointer)
        /// The type of an encrypted value's plaintext, and the base64 text of the ciphertext.
        case sealed(FieldType, UnsafeRawBufferPointer)
        /// A reference to a record in the same zone.
        case reference(name: UnsafeRawBufferPointer, action: ReferenceValue.Action)
    }

    /// The elements of a list of strings.
    package struct Strings: Sequence, IteratorProtocol {
        package let count: Int
        fileprivate var rest: UnsafeRawBufferPointer

        package mutating func next() -> UnsafeRawBufferPointer? {
            guard rest.count > 1 else { return nil }
            // The scanner already scanned the list, so each element has its quotes and contains no escapes.
            let end = JSONEscape.firstSpecial(in: rest, from: 1)
            let element = UnsafeRawBufferPointer(rebasing: rest[1..<end])
            rest = UnsafeRawBufferPointer(rebasing: rest[Swift.min(end + 2, rest.count)...])
            return element
        }
    }

    // MARK: Scanning

    /// Scans a string without escapes; nil for anything else.
    @inline(__always)
    private mutating func string() -> UnsafeRawBufferPointer? {
        guard byte == UInt8(ascii: "\"") else { return nil }
        let start = index + 1
        let end = JSONEscape.firstSpecial(in: bytes, from: start)
        guard end < bytes.count, bytes[end] == UInt8(ascii: "\"") else { return nil }
        index = end + 1
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }

    mutating func token() -> Token? {
        if index > 1, !take(",") { return nil }
        guard let name = string(), take(":{\"value\":"), let value = value() else { return nil }
        var isEncrypted = take(",\"isEncrypted\":true")
        if case .sealed = value { isEncrypted = true }
        return take("}") ? Token(name: name, value: value, isEncrypted: isEncrypted) : nil
    }

    /// Scans a field's value and its type; nil if the value needs the full decoder.
    private mutating func value() -> Value? {
        switch byte {
        case UInt8(ascii: "\""):
            guard let text = string(), take(",\"type\":\"") else { return nil }
            if take("STRING\"") { return .string(text) }
            if take("ENCRYPTED_") { return sealedType().map { .sealed($0, text) } }
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

    /// Scans the type of an encrypted value, and the quote after the type.
    private mutating func sealedType() -> FieldType? {
        let scalar: FieldType.Scalar
        if take("STRING") {
            scalar = .string
        } else if take("INT64") {
            scalar = .int64
        } else if take("DOUBLE") {
            scalar = .double
        } else if take("BYTES") {
            scalar = .bytes
        } else if take("TIMESTAMP") {
            scalar = .timestamp
        } else if take("LOCATION") {
            scalar = .location
        } else {
            return nil
        }
        let isList = take("_LIST")
        return take("\"") ? FieldType(scalar, isList: isList) : nil
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
        // An empty list does not show the type of its elements.
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

    /// The decoded bytes of base64 text; nil if it is invalid.
    package static func decodedBase64(_ text: UnsafeRawBufferPointer) -> [UInt8]? { Base64.decode(text) }

    private static func double(_ text: UnsafeRawBufferPointer) -> Double? {
        var value = 0.0
        let start = text.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return csimdjson_read_double(start, text.count, &value) && value.isFinite ? value : nil
    }
}
