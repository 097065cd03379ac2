import NephosStorage

/// A container's schema in one environment: its record types and roles. Order and comments of a declaration are no part
/// of it.
package struct Schema: Equatable, Sendable {
    private(set) var recordTypes: [String: RecordTypeSchema] = [:]
    /// The roles that were made with `CREATE ROLE`.
    private(set) var roles: Set<String> = []
    /// The accounts that have a role, by their numbers. No part of what the schema language says: an import leaves it as it
    /// is.
    private(set) var members: [String: Set<Int64>] = [:]

    /// The accounts whose saves made a type, by their numbers, in development. No part of what the schema language says
    /// either.
    private(set) var makers: [String: Int64] = [:]
    /// The fields of a type that the saves of other accounts made, by the accounts' numbers.
    private(set) var fieldMakers: [String: [Int64: Set<String>]] = [:]

    package init() {}

    /// What every container has from the start: the type of its users.
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

    /// A record type; nil where it is unknown.
    func recordType(_ name: String) -> RecordTypeSchema? { recordTypes[name] }

    /// The type of a field, a system field included.
    func type(of field: String, in recordType: String) -> SchemaType? { recordTypes[recordType]?.fields[field]?.type }

    /// The indexes that a field has; none where the field is unknown.
    func options(of field: String, in recordType: String) -> IndexOptions {
        recordTypes[recordType]?.fields[field]?.indexes ?? []
    }

    /// Whether some field may have what is sealed with a record's key: values that are encrypted, files of assets.
    var hasSealedFields: Bool {
        recordTypes.values.contains { type in
            type.fields.values.contains { $0.type.isEncrypted || $0.type.scalar == .asset }
        }
    }

    /// Whether it has sealed fields, and the one before had none: shares that were made until then have no keys.
    func beginsToSeal(after old: Schema) -> Bool { hasSealedFields && !old.hasSealedFields }

    /// The grants on the type's records in the public database. A type that grants nothing has the standard grants.
    func grants(of recordType: String) -> Grants {
        guard let type = recordTypes[recordType] else { return [:] }
        return type.grants.isEmpty ? .standard(for: recordType) : type.grants
    }

    /// The roles that an account was given.
    func roles(of account: Int64) -> [String] {
        // Nearly always there are none.
        members.isEmpty ? [] : members.compactMap { $0.value.contains(account) ? $0.key : nil }
    }

    /// How many of the types an account's saves made.
    func typesMade(by account: Int64) -> Int { makers.count { $0.value == account && recordTypes[$0.key] != nil } }

    /// How many of the fields of a type, which another made, an account's saves made.
    func fieldsMade(by account: Int64, in recordType: String) -> Int {
        guard let fields = recordTypes[recordType]?.fields else { return 0 }
        return fieldMakers[recordType]?[account]?.count { fields[$0] != nil } ?? 0
    }

    // MARK: - Growth

    /// Adds a type as a save does in development.
    mutating func add(recordType: String, maker: Int64? = nil) {
        guard recordTypes[recordType] == nil else { return }
        recordTypes[recordType] = RecordTypeSchema(automatic: recordType)
        makers[recordType] = maker
    }

    /// Adds a field as a save does in development, with the indexes that its type gets automatically.
    /// - Parameter maker: where it is another than the type's.
    mutating func add(field: String, _ type: SchemaType, to recordType: String, maker: Int64? = nil) {
        recordTypes[recordType, default: RecordTypeSchema(automatic: recordType)].fields[field] =
            SchemaField(automatic: type)
        if let maker { fieldMakers[recordType, default: [:]][maker, default: []].insert(field) }
    }

    /// Sets a type whole.
    mutating func set(_ type: RecordTypeSchema, named name: String) { recordTypes[name] = type }

    mutating func add(role: String) { roles.insert(role) }
}
