import NephosStorage

/// A container's schema in one environment: its record types and roles, without the order and comments of a
/// declaration.
package struct Schema: Equatable, Sendable {
    private(set) var recordTypes: [String: RecordTypeSchema] = [:]
    /// The roles of `CREATE ROLE`.
    private(set) var roles: Set<String> = []
    /// The account numbers of each role's members. Not part of the schema language: an import leaves them unchanged.
    private(set) var members: [String: Set<Int64>] = [:]

    /// The number of the account whose save made a type, in development. Not part of the schema language either.
    private(set) var makers: [String: Int64] = [:]
    /// The fields of a type that other accounts' saves made, by account number.
    private(set) var fieldMakers: [String: [Int64: Set<String>]] = [:]

    package init() {}

    /// The schema of every new container: the type of its users.
    static let initial = Schema(recordTypes: [SystemRecordType.user: RecordTypeSchema(automatic: SystemRecordType.user)]
    )

    init(
        recordTypes: [String: RecordTypeSchema], roles: Set<String> = [], members: [String: Set<Int64>] = [:],
        makers: [String: Int64] = [:], fieldMakers: [String: [Int64: Set<String>]] = [:]
    ) {
        self.makers = makers
        self.fieldMakers = fieldMakers
        self.recordTypes = recordTypes
        self.roles = roles
        self.members = members
    }

    /// Reads the stored schema.
    init(_ reader: StorageReader) throws {
        self = SchemaRows.schema(
            recordTypes: try reader.recordTypes(), fields: try reader.schemaFields(),
            indexes: try reader.indexDefinitions())
    }

    // MARK: - Questions

    func hasRecordType(_ name: String) -> Bool { recordTypes[name] != nil }

    /// A record type; nil if unknown.
    func recordType(_ name: String) -> RecordTypeSchema? { recordTypes[name] }

    /// The type of a field, a system field included.
    func type(of field: String, in recordType: String) -> SchemaType? { recordTypes[recordType]?.fields[field]?.type }

    /// The indexes of a field; none if it is unknown.
    func options(of field: String, in recordType: String) -> IndexOptions {
        recordTypes[recordType]?.fields[field]?.indexes ?? []
    }

    /// Whether some field may hold values sealed with a record's key: encrypted values, files of assets.
    var hasSealedFields: Bool {
        recordTypes.values.contains { type in
            type.fields.values.contains { $0.type.isEncrypted || $0.type.scalar == .asset }
        }
    }

    /// Whether this schema has sealed fields and the old one had none: existing shares then have no keys.
    func beginsToSeal(after old: Schema) -> Bool { hasSealedFields && !old.hasSealedFields }

    /// The grants on the type's records in the public database; the standard grants if the type declares none.
    func grants(of recordType: String) -> Grants {
        guard let type = recordTypes[recordType] else { return [:] }
        return type.grants.isEmpty ? .standard(for: recordType) : type.grants
    }

    /// An account's roles.
    func roles(of account: Int64) -> [String] {
        // Nearly always empty.
        members.isEmpty ? [] : members.compactMap { $0.value.contains(account) ? $0.key : nil }
    }

    /// The number of types that an account's saves made.
    func typesMade(by account: Int64) -> Int { makers.count { $0.value == account && recordTypes[$0.key] != nil } }

    /// The number of fields that an account's saves made in another's type.
    func fieldsMade(by account: Int64, in recordType: String) -> Int {
        guard let fields = recordTypes[recordType]?.fields else { return 0 }
        return fieldMakers[recordType]?[account]?.count { fields[$0] != nil } ?? 0
    }

    // MARK: - Growth

    /// Adds a type as a development save does.
    mutating func add(recordType: String, maker: Int64? = nil) {
        guard recordTypes[recordType] == nil else { return }
        recordTypes[recordType] = RecordTypeSchema(automatic: recordType)
        makers[recordType] = maker
    }

    /// Adds a field as a development save does, with the automatic indexes of its type.
    /// - Parameter maker: the account, if it did not make the type.
    mutating func add(field: String, _ type: SchemaType, to recordType: String, maker: Int64? = nil) {
        recordTypes[recordType, default: RecordTypeSchema(automatic: recordType)].fields[field] =
            SchemaField(automatic: type)
        if let maker { fieldMakers[recordType, default: [:]][maker, default: []].insert(field) }
    }

    /// Sets a whole type.
    mutating func set(_ type: RecordTypeSchema, named name: String) { recordTypes[name] = type }

    mutating func add(role: String) { roles.insert(role) }
}
