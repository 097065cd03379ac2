package import NephosWire

extension SealedFieldValue {
    /// The type of the value's field in the CloudKit Schema Language: `ENCRYPTED STRING`, `LIST<ENCRYPTED INT64>`, ….
    package var schemaType: String {
        SchemaType(inferredFrom: .sealed(self), isEncrypted: true)?.text ?? "ENCRYPTED"
    }
}

/// The type of a field in the CloudKit Schema Language: `STRING`, `LIST<REFERENCE>`, `ENCRYPTED BYTES`, …. A number
/// field that a save adds is a `NUMBER`, which accepts integers and fractions alike, as `NSNumber` does (`CKRecord`,
/// Apple's documentation: "stores any numerical information").
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

        /// The wire type of the elements of an empty list of this type.
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

    /// The preferred reading of a `NUMBER` (`NUMBER PREFERRED AS INT64`), for readers that distinguish integers from
    /// fractions.
    enum NumberPreference: String, Hashable, Sendable, CaseIterable {
        case double = "DOUBLE"
        case int64 = "INT64"
    }

    var scalar: Scalar
    var isList: Bool
    var isEncrypted: Bool
    /// The preferred reading of a `NUMBER`; nil without a preference and for other types.
    var preference: NumberPreference?

    init(_ scalar: Scalar, isList: Bool = false, isEncrypted: Bool = false, preference: NumberPreference? = nil) {
        self.scalar = scalar
        self.isList = isList
        self.isEncrypted = isEncrypted
        self.preference = preference
    }

    /// The type that a first value gives its field; nil for an empty list, which has no element type.
    ///
    /// The field of a plain number becomes a `NUMBER`. The schema language has no encrypted `NUMBER`, so the field of
    /// an encrypted number gets the value's own type.
    init?(inferredFrom value: FieldValue, isEncrypted: Bool) {
        let scalar: Scalar
        switch value.type.scalar {
        case .string: scalar = .string
        case .int64: scalar = isEncrypted ? .int64 : .number
        case .double: scalar = isEncrypted ? .double : .number
        case .bytes: scalar = .bytes
        case .timestamp: scalar = .timestamp
        case .location: scalar = .location
        case .reference: scalar = .reference
        case .asset: scalar = .asset
        case .unknown: return nil
        }
        self.init(scalar, isList: value.type.isList, isEncrypted: isEncrypted)
    }

    /// Parses a type of the schema language; nil if the text is not one.
    init?(_ text: String) {
        guard let definition = SchemaParser.fieldDefinition(text), definition.options.isEmpty else { return nil }
        self = definition.type
    }

    /// The type as text in the schema language.
    var text: String {
        var element = (isEncrypted ? "ENCRYPTED " : "") + scalar.rawValue
        if let preference { element += " PREFERRED AS " + preference.rawValue }
        return isList ? "LIST<\(element)>" : element
    }

    /// Whether values of the scalar type can be encrypted. References cannot, because the service must be able to read
    /// them; assets are encrypted in their own way (`CKRecord.encryptedValues`, Apple's documentation).
    static func canBeEncrypted(_ scalar: Scalar) -> Bool {
        switch scalar {
        case .bytes, .double, .int64, .location, .string, .timestamp: true
        case .asset, .number, .reference: false
        }
    }

    /// Whether each value is a single number or date. An index never truncates these values.
    var isNumeric: Bool {
        switch scalar {
        case .double, .int64, .number, .timestamp: !isList
        case .asset, .bytes, .location, .reference, .string: false
        }
    }

    /// Whether values are stored as numbers of one kind, integers or fractions. A NUMBER stores both kinds.
    var isNumber: Bool { scalar == .int64 || scalar == .double }

    /// Whether the field's scalar type accepts a value of the wire type.
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
