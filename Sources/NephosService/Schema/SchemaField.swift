/// A field of a record type: what it holds and how it can be looked for.
struct SchemaField: Hashable, Sendable {
    var type: SchemaType
    /// As declared. They may include options that have no effect on the type.
    var options: IndexOptions

    init(_ type: SchemaType, _ options: IndexOptions = []) {
        self.type = type
        self.options = options
    }

    /// A field as a save makes it in development.
    init(automatic type: SchemaType) {
        self.init(type, .automatic(for: type))
    }

    /// The indexes that there are.
    var indexes: IndexOptions { options.intersection(.possible(for: type)) }
}

/// The fields that every record has, by their names in the schema (`CKRecord.SystemFieldKey`, and `___etag`).
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

    /// All of them, with the same options as far as they are possible.
    static func fields(_ options: IndexOptions) -> [String: SchemaField] {
        var fields: [String: SchemaField] = [:]
        for field in allCases { fields[field.rawValue] = SchemaField(field.type, options) }
        return fields
    }
}
