/// A field's `type` in the sender's spelling.
struct DeclaredType {
    /// The scalar type; nil for `LIST`, `UNKNOWN_LIST` and `EMPTY_LIST`, for which the list's elements determine it.
    var scalar: FieldType.Scalar?
    var isList: Bool
    /// Whether the type's name has the prefix `ENCRYPTED_`.
    var isEncrypted = false

    /// Decodes a type. Accepts every known spelling of CloudKit Web Services, `DATETIME`, `ASSET` and `NUMBER_INT64`
    /// included.
    init(json: JSONValue) throws(WireError) {
        guard json.tag == JSONValue.Tag.string, let type = DeclaredType(json.text) else {
            throw json.mismatch(Self.expected)
        }
        self = type
    }

    private static let expected =
        "a field type (STRING, INT64, DOUBLE, BYTES, TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST)"

    private init?(_ name: JSONString) {
        if let scalar = Self.scalar(name) {
            self.scalar = scalar
            isList = false
            return
        }
        var name = name
        if let rest = name.dropping(prefix: "ENCRYPTED_") {
            isEncrypted = true
            name = rest
        }
        switch name {
        case "LIST", "UNKNOWN_LIST", "EMPTY_LIST":
            isList = true
            return
        default: break
        }
        let base = name.dropping(suffix: "_LIST")
        isList = base != nil
        guard let scalar = Self.scalar(base ?? name) else { return nil }
        self.scalar = scalar
    }

    private static func scalar(_ name: JSONString) -> FieldType.Scalar? {
        switch name {
        case "STRING": .string
        case "INT64", "NUMBER_INT64", "BOOLEAN": .int64
        case "DOUBLE", "NUMBER_DOUBLE": .double
        case "BYTES": .bytes
        case "TIMESTAMP", "DATETIME": .timestamp
        case "LOCATION": .location
        case "REFERENCE": .reference
        case "ASSETID", "ASSET": .asset
        default: nil
        }
    }
}

extension JSONString {
    func dropping(prefix: StaticString) -> JSONString? {
        let length = prefix.utf8CodeUnitCount
        guard count > length, equalBytes(start, prefix.utf8Start, length) else { return nil }
        return JSONString(start: start + length, count: count - length)
    }

    func dropping(suffix: StaticString) -> JSONString? {
        let length = suffix.utf8CodeUnitCount
        guard count > length, equalBytes(start + count - length, suffix.utf8Start, length) else { return nil }
        return JSONString(start: start, count: count - length)
    }
}

extension FieldType {
    /// The type's `wireName`, without the allocation of a string.
    var staticWireName: StaticString {
        switch (scalar, isList) {
        case (.string, false): "STRING"
        case (.int64, false): "INT64"
        case (.double, false): "DOUBLE"
        case (.bytes, false): "BYTES"
        case (.timestamp, false): "TIMESTAMP"
        case (.location, false): "LOCATION"
        case (.reference, false): "REFERENCE"
        case (.asset, false): "ASSETID"
        case (.unknown, false): "UNKNOWN"
        case (.string, true): "STRING_LIST"
        case (.int64, true): "INT64_LIST"
        case (.double, true): "DOUBLE_LIST"
        case (.bytes, true): "BYTES_LIST"
        case (.timestamp, true): "TIMESTAMP_LIST"
        case (.location, true): "LOCATION_LIST"
        case (.reference, true): "REFERENCE_LIST"
        case (.asset, true): "ASSETID_LIST"
        case (.unknown, true): "UNKNOWN_LIST"
        }
    }
}

extension FieldType {
    /// The name of an encrypted value's type: `ENCRYPTED_STRING`, `ENCRYPTED_INT64_LIST`, ….
    var sealedWireName: StaticString {
        switch (scalar, isList) {
        case (.string, false): "ENCRYPTED_STRING"
        case (.int64, false): "ENCRYPTED_INT64"
        case (.double, false): "ENCRYPTED_DOUBLE"
        case (.bytes, false): "ENCRYPTED_BYTES"
        case (.timestamp, false): "ENCRYPTED_TIMESTAMP"
        case (.location, false): "ENCRYPTED_LOCATION"
        case (.reference, false): "ENCRYPTED_REFERENCE"
        case (.asset, false): "ENCRYPTED_ASSETID"
        case (.unknown, false): "ENCRYPTED_UNKNOWN"
        case (.string, true): "ENCRYPTED_STRING_LIST"
        case (.int64, true): "ENCRYPTED_INT64_LIST"
        case (.double, true): "ENCRYPTED_DOUBLE_LIST"
        case (.bytes, true): "ENCRYPTED_BYTES_LIST"
        case (.timestamp, true): "ENCRYPTED_TIMESTAMP_LIST"
        case (.location, true): "ENCRYPTED_LOCATION_LIST"
        case (.reference, true): "ENCRYPTED_REFERENCE_LIST"
        case (.asset, true): "ENCRYPTED_ASSETID_LIST"
        case (.unknown, true): "ENCRYPTED_UNKNOWN_LIST"
        }
    }
}
