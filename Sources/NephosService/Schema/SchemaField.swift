/// A field of a record type: its type and query options.
struct SchemaField: Hashable, Sendable {
    var type: SchemaType
    /// As declared, including options without effect on the type.
    var options: IndexOptions

    init(_ type: SchemaType, _ options: IndexOptions = []) {
        self.type = type
        self.options = options
    }

    /// A field that a save creates in development.
    init(automatic type: SchemaType) {
        self.init(type, .automatic(for: type))
    }

    /// The options that take effect.
    var indexes: IndexOptions { options.intersection(.possible(for: type)) }
}

/// The system fields of every record, by their names in the schema (`CKRecord.SystemFieldKey`, and `___etag`).
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

    /// All system fields, with these options as far as their types allow.
    static func fields(_ options: IndexOptions) -> [String: SchemaField] {
        var fields: [String: SchemaField] = [:]
        for field in allCases { fields[field.rawValue] = SchemaField(field.type, options) }
        return fields
    }
}
