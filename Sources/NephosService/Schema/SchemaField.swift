/// A field of a record type, with its type and query options.
struct SchemaField: Hashable, Sendable {
    var type: SchemaType
    /// The options as declared, including options that have no effect on the field's type.
    var options: IndexOptions

    init(_ type: SchemaType, _ options: IndexOptions = []) {
        self.type = type
        self.options = options
    }

    /// Creates a field as a save does in development.
    init(automatic type: SchemaType) {
        self.init(type, .automatic(for: type))
    }

    /// The options that take effect on the field's type.
    var indexes: IndexOptions { options.intersection(.possible(for: type)) }
}

/// The system fields of every record, named as in the schema (`CKRecord.SystemFieldKey`, and `___etag`).
enum SystemField: String, CaseIterable, Sendable {
    case createTime = "___createTime"
    case createdBy = "___createdBy"
    case etag = "___etag"
    case modTime = "___modTime"
    case modifiedBy = "___modifiedBy"
    case recordID = "___recordID"

    var type: SchemaType {
        switch self {
        case .createTime, .modTime: SchemaType(.timestamp)
        case .createdBy, .modifiedBy, .recordID: SchemaType(.reference)
        case .etag: SchemaType(.string)
        }
    }

    /// All system fields with the given options; an option that a type does not allow has no effect.
    static func fields(_ options: IndexOptions) -> [String: SchemaField] {
        var fields: [String: SchemaField] = [:]
        for field in allCases { fields[field.rawValue] = SchemaField(field.type, options) }
        return fields
    }
}
