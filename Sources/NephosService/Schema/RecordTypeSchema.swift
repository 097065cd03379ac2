/// A record type: its fields, including the system fields, its grants in the public database, and its composite
/// indexes.
struct RecordTypeSchema: Hashable, Sendable {
    /// The fields by name. The six system fields are always present.
    var fields: [String: SchemaField]
    /// The declared grants; empty if none are declared. Then the standard grants apply.
    var grants: Grants
    /// The composite indexes. A composite index must be declared, because every account's saves update it.
    var indexes: Set<IndexSignature>

    /// Creates a declared type. Its system fields have no index unless they are declared with options.
    init(fields: [String: SchemaField] = [:], grants: Grants = [:], indexes: Set<IndexSignature> = []) {
        self.indexes = indexes
        self.fields = SystemField.fields([]).merging(fields) { _, declared in declared }
        self.grants = grants
    }

    /// Creates a type as a save does in development.
    ///
    /// The system fields of such a type are queryable and sortable at once. Apple's service indexes them, including
    /// `___recordID`, only on request in its console. Here a query for all records of a type works in development from
    /// the start. The records of users cannot be queried, so their system fields are not indexed.
    init(automatic name: String) {
        self.init(fields: SystemField.fields(Self.automaticOptions(of: name)), grants: .standard(for: name))
        if name == SystemRecordType.user { fields[Self.rolesField] = SchemaField(Self.rolesType) }
    }

    static func automaticOptions(of recordType: String) -> IndexOptions {
        recordType == SystemRecordType.user ? [] : [.queryable, .sortable]
    }

    /// The field of `Users` with a user's custom roles.
    static let rolesField = "roles"
    static let rolesType = SchemaType(.int64, isList: true)

    /// The type that the system defines for a field; nil for an app's field.
    static func fixedType(of field: String, in recordType: String) -> SchemaType? {
        if recordType == SystemRecordType.user && field == rolesField { return rolesType }
        return SystemField(rawValue: field)?.type
    }

    /// The composite indexes in the order of exports.
    var orderedIndexes: [IndexSignature] { indexes.sorted { $0.text < $1.text } }

    /// The fields in the order of exports: the system fields first, then the other fields by name.
    var orderedFields: [(name: String, field: SchemaField)] {
        let system = SystemField.allCases.map(\.rawValue)
        let own = fields.keys.filter { SystemField(rawValue: $0) == nil }.sorted()
        return (system + own).compactMap { name in fields[name].map { (name, $0) } }
    }
}

extension RecordTypeSchema {
    /// The fields that a word search without a field examines, in the order of their names.
    var searchableFields: [String] { fields.filter { $0.value.indexes.contains(.searchable) }.map(\.key).sorted() }
}
