/// A record type: its fields, the system's among them, and its grants in the public database.
struct RecordTypeSchema: Hashable, Sendable {
    /// By name. The six system fields are always there.
    var fields: [String: SchemaField]
    /// Empty where the type was declared without; the standard grants count then.
    var grants: Grants
    /// The indexes of several fields. Only a declaration makes one: every account's saves keep it up.
    var indexes: Set<IndexSignature>

    /// A type as it is declared: system fields are not indexed unless they are listed with options.
    init(fields: [String: SchemaField] = [:], grants: Grants = [:], indexes: Set<IndexSignature> = []) {
        self.indexes = indexes
        self.fields = SystemField.fields([]).merging(fields) { _, declared in declared }
        self.grants = grants
    }

    /// A type as a save makes it in development.
    ///
    /// Its system fields can be looked for and sorted by at once. Apple indexes them only when asked to in its console,
    /// `___recordID` included; here a query for all records of a type works in development from the start.
    /// The records of users cannot be queried, so theirs are not indexed.
    init(automatic name: String) {
        self.init(fields: SystemField.fields(Self.automaticOptions(of: name)), grants: .standard(for: name))
        if name == SystemRecordType.user { fields[Self.rolesField] = SchemaField(Self.rolesType) }
    }

    static func automaticOptions(of recordType: String) -> IndexOptions {
        recordType == SystemRecordType.user ? [] : [.queryable, .sortable]
    }

    /// The field of `Users` that holds the custom roles of a user.
    static let rolesField = "roles"
    static let rolesType = SchemaType(.int64, isList: true)

    /// The type that the system gives a field; nil where the field is the developer's.
    static func fixedType(of field: String, in recordType: String) -> SchemaType? {
        if recordType == SystemRecordType.user && field == rolesField { return rolesType }
        return SystemField(rawValue: field)?.type
    }

    /// The order in which indexes are written.
    var orderedIndexes: [IndexSignature] { indexes.sorted { $0.text < $1.text } }

    /// The order in which fields are written: the system's first, then by name.
    var orderedFields: [(name: String, field: SchemaField)] {
        let system = SystemField.allCases.map(\.rawValue)
        let own = fields.keys.filter { SystemField(rawValue: $0) == nil }.sorted()
        return (system + own).compactMap { name in fields[name].map { (name, $0) } }
    }
}
