/// The fields that every record has, by their names on the wire (CloudKit Web Services, Query and Schema).
package enum SystemField: String, Hashable, Sendable, CaseIterable {
    case recordName
    case createdTimestamp
    case modifiedTimestamp
    case createdUserRecordName
    case modifiedUserRecordName
    case share
    case parent

    /// The field's name in the schema: `___recordID`, ….
    package var schemaName: String {
        switch self {
        case .recordName: "___recordID"
        case .createdTimestamp: "___createTime"
        case .modifiedTimestamp: "___modTime"
        case .createdUserRecordName: "___createdBy"
        case .modifiedUserRecordName: "___modifiedBy"
        case .share: "___share"
        case .parent: "___parent"
        }
    }

    package var type: FieldType {
        switch self {
        case .createdTimestamp, .modifiedTimestamp: .timestamp
        default: .reference
        }
    }

    /// Whether the field's value is a user. A query cannot name a user's zone, so comparisons use only the record name.
    package var isUser: Bool { self == .createdUserRecordName || self == .modifiedUserRecordName }

    package init?(schemaName: String) {
        guard schemaName.hasPrefix("___"), let field = Self.bySchemaName[schemaName] else { return nil }
        self = field
    }

    /// Resolves `parent` and `share`. Both can also be names of fields; they name the properties only if the record
    /// type has no such field.
    package init?(property name: String) {
        switch name {
        case "parent": self = .parent
        case "share": self = .share
        default: return nil
        }
    }

    private static let bySchemaName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.schemaName, $0) })
}

/// The key of a filter or a sort descriptor.
package enum QueryKey: Hashable, Sendable {
    case field(String)
    case system(SystemField)
    /// All searchable string fields of a record: the key of a full-text filter that names no field.
    case allSearchableFields

    /// Resolves a name: a system field by its schema name, else a field.
    package init(name: String) {
        self = SystemField(schemaName: name).map(QueryKey.system) ?? .field(name)
    }

    /// The key's name in errors of CloudKit Web Services: `recordName` for the record's ID, the schema's name for the
    /// other system fields.
    package var displayName: String {
        switch self {
        case .field(let name): name
        case .system(.recordName): "recordName"
        case .system(let field): field.schemaName
        case .allSearchableFields: "self"
        }
    }
}
