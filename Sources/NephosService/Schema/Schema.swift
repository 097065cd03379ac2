import NephosStorage

/// The schema of a container in one environment: its record types and roles, without the order and the comments of a
/// declaration.
package struct Schema: Equatable, Sendable {
    private(set) var recordTypes: [String: RecordTypeSchema] = [:]
    /// The roles that `CREATE ROLE` defines.
    private(set) var roles: Set<String> = []
    /// The IDs of the accounts that have each role. The schema language does not contain them, so an import leaves them
    /// unchanged.
    private(set) var members: [String: Set<Int64>] = [:]

    /// The ID of the account whose save made each record type in development. The schema language does not contain it.
    private(set) var makers: [String: Int64] = [:]
    /// The fields that the saves of other accounts than the type's maker made, by record type and account ID.
    private(set) var fieldMakers: [String: [Int64: Set<String>]] = [:]

    package init() {}

    /// The schema of every new container, which has only the type of user records.
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

    /// A record type; nil if the schema does not define it.
    func recordType(_ name: String) -> RecordTypeSchema? { recordTypes[name] }

    /// The type of a field, including system fields; nil if the field is unknown.
    func type(of field: String, in recordType: String) -> SchemaType? { recordTypes[recordType]?.fields[field]?.type }

    /// The index options that take effect on a field; empty if the field is unknown.
    func options(of field: String, in recordType: String) -> IndexOptions {
        recordTypes[recordType]?.fields[field]?.indexes ?? []
    }

    /// Whether a field may contain values that are sealed with a record's key: encrypted values, or files of assets.
    var hasSealedFields: Bool {
        recordTypes.values.contains { type in
            type.fields.values.contains { $0.type.isEncrypted || $0.type.scalar == .asset }
        }
    }

    /// Whether this schema has sealed fields and the old schema had none. In that case existing shares have no keys.
    func beginsToSeal(after old: Schema) -> Bool { hasSealedFields && !old.hasSealedFields }

    /// The grants on the records of a type in the public database; the standard grants if the type declares none.
    func grants(of recordType: String) -> Grants {
        guard let type = recordTypes[recordType] else { return [:] }
        return type.grants.isEmpty ? .standard(for: recordType) : type.grants
    }

    /// The names of the roles that an account has.
    func roles(of account: Int64) -> [String] {
        // Most schemas have no members.
        members.isEmpty ? [] : members.compactMap { $0.value.contains(account) ? $0.key : nil }
    }

    /// The number of record types that the saves of an account made.
    func typesMade(by account: Int64) -> Int { makers.count { $0.value == account && recordTypes[$0.key] != nil } }

    /// The number of fields that the saves of an account made in a record type of another account.
    func fieldsMade(by account: Int64, in recordType: String) -> Int {
        guard let fields = recordTypes[recordType]?.fields else { return 0 }
        return fieldMakers[recordType]?[account]?.count { fields[$0] != nil } ?? 0
    }

    // MARK: - Growth

    /// Adds a record type as a save in development does.
    mutating func add(recordType: String, maker: Int64? = nil) {
        guard recordTypes[recordType] == nil else { return }
        recordTypes[recordType] = RecordTypeSchema(automatic: recordType)
        makers[recordType] = maker
    }

    /// Adds a field as a save in development does, with the automatic indexes of its type.
    /// - Parameter maker: the ID of the saving account; nil if that account made the record type.
    mutating func add(field: String, _ type: SchemaType, to recordType: String, maker: Int64? = nil) {
        recordTypes[recordType, default: RecordTypeSchema(automatic: recordType)].fields[field] =
            SchemaField(automatic: type)
        if let maker { fieldMakers[recordType, default: [:]][maker, default: []].insert(field) }
    }

    /// Adds or replaces a whole record type.
    mutating func set(_ type: RecordTypeSchema, named name: String) { recordTypes[name] = type }

    mutating func add(role: String) { roles.insert(role) }
}
