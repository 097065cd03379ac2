/// A record type: its fields, including the system's, and its grants in the public database.
struct RecordTypeSchema: Hashable, Sendable {
    /// By name. The six system fields are always present.
    var fields: [String: SchemaField]
    /// Empty if none are declared; then the standard grants apply.
    var grants: Grants
    /// The composite indexes. Only a declaration makes one, because every account's saves update it.
    var indexes: Set<IndexSignature>

    /// A declared type: its system fields have no index unless they are listed with options.
    init(fields: [String: SchemaField] = [:], grants: Grants = [:], indexes: Set<IndexSignature> = []) {
        self.indexes = indexes
        self.fields = SystemField.fields([]).merging(fields) { _, declared in declared }
        self.grants = grants
    }

    /// A type that a save creates in development.
    ///
    /// Its system fields are queryable and sortable at once. Apple indexes them only on request in its console,
    /// including `___recordID`; here a query for all records of a type works in development from the start. The records
    /// of users cannot be queried, so theirs are not indexed.
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

    /// The type that the system defines for a field; nil for a developer's field.
    static func fixedType(of field: String, in recordType: String) -> SchemaType? {
        if recordType == SystemRecordType.user && field == rolesField { return rolesType }
        return SystemField(rawValue: field)?.type
    }

    /// Indexes in the order of exports.
    var orderedIndexes: [IndexSignature] { indexes.sorted { $0.text < $1.text } }

    /// Fields in the order of exports: the system's first, then by name.
    var orderedFields: [(name: String, field: SchemaField)] {
        let system = SystemField.allCases.map(\.rawValue)
        let own = fields.keys.filter { SystemField(rawValue: $0) == nil }.sorted()
        return (system + own).compactMap { name in fields[name].map { (name, $0) } }
    }
}
