import NephosWire

/// A field's type in the schema, in the words of the CloudKit Schema Language: `STRING`, `LIST<REFERENCE>`,
/// `ENCRYPTED BYTES`, …. A number that a save brought in is a `NUMBER`: it takes integers and fractions alike, as
/// `NSNumber` does (`CKRecord`, Apple's documentation: "stores any numerical information").
struct SchemaType: Hashable, Sendable {
    enum Scalar: String, Hashable, Sendable, CaseIterable {
        case asset = "ASSET"
        case bytes = "BYTES"
        case double = "DOUBLE"
        case int64 = "INT64"
        case location = "LOCATION"
        case number = "NUMBER"
        case reference = "REFERENCE"
        case string = "STRING"
        case timestamp = "TIMESTAMP"

        /// The wire's type of the elements of an empty list of this type.
        var wire: FieldType.Scalar {
            switch self {
            case .asset: .asset
            case .bytes: .bytes
            case .double: .double
            case .int64, .number: .int64
            case .location: .location
            case .reference: .reference
            case .string: .string
            case .timestamp: .timestamp
            }
        }
    }

    var scalar: Scalar
    var isList: Bool
    var isEncrypted: Bool

    /// The type a first value gives its field; nil for an empty list, which says nothing about its elements.
    init?(inferredFrom value: FieldValue, isEncrypted: Bool) {
        let scalar: Scalar
        switch value.type.scalar {
        case .string: scalar = .string
        case .int64, .double: scalar = .number
        case .bytes: scalar = .bytes
        case .timestamp: scalar = .timestamp
        case .location: scalar = .location
        case .reference: scalar = .reference
        case .asset: scalar = .asset
        case .unknown: return nil
        }
        self.scalar = scalar
        self.isList = value.type.isList
        self.isEncrypted = isEncrypted
    }

    init?(_ text: String) {
        var text = text[...]
        isList = text.hasPrefix("LIST<") && text.hasSuffix(">")
        if isList { text = text.dropFirst("LIST<".count).dropLast() }
        isEncrypted = text.hasPrefix("ENCRYPTED ")
        if isEncrypted { text = text.dropFirst("ENCRYPTED ".count) }
        guard let scalar = Scalar(rawValue: String(text)) else { return nil }
        self.scalar = scalar
    }

    var text: String {
        let element = (isEncrypted ? "ENCRYPTED " : "") + scalar.rawValue
        return isList ? "LIST<\(element)>" : element
    }

    /// Whether the scalar takes a value of the wire's type.
    func accepts(_ type: FieldType.Scalar) -> Bool {
        switch (scalar, type) {
        case (.asset, .asset), (.bytes, .bytes), (.double, .double), (.int64, .int64), (.location, .location),
            (.number, .int64), (.number, .double), (.reference, .reference), (.string, .string),
            (.timestamp, .timestamp):
            true
        default: false
        }
    }
}
