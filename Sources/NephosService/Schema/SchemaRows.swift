import NephosStorage

/// Encodes a schema in the store's record types and schema fields. No other code depends on the encoding. Composite
/// indexes are stored separately (`IndexAdjustment`).
///
/// | record type | field | type |
/// | --- | --- | --- |
/// | the type | the field | its definition in the schema language: `STRING QUERYABLE SORTABLE`. Without options it has those that a save gives it in development; `UNINDEXED` means none. Empty: there is no such field |
/// | the type | a system field | the same. Without a row, it has the options that a save gives it |
/// | the type | empty | its grants in the schema language. Empty, or no row: the standard grants. `DROPPED`: there is no such type |
/// | empty | the role | `ROLE`. Empty: there is no such role |
/// | empty | the role, `@`, the account's number | `MEMBER`. Empty: the account does not have the role |
/// | empty | `@`, the type | `MADE`, the number of the account whose save made it. Empty: no save did |
/// | empty | `@`, the type, `@`, the field | the same for a field that another account's save made than the type's |
///
/// Schema rows are never deleted: an obsolete row is overwritten with a value that marks it as obsolete. A record type
/// that a save made thus has one row for itself and one for each of its own fields.
enum SchemaRows {
    private static let unindexed = "UNINDEXED"
    private static let dropped = "DROPPED"
    private static let role = "ROLE"
    private static let member = "MEMBER"
    private static let made = "MADE "
    /// The field name in a row about the record type itself.
    private static let typeItself = ""
    /// The record type name in a row about the container.
    private static let container = ""

    // MARK: - Reading

    static func schema(
        recordTypes: [String], fields: [SchemaFieldRow], indexes: [IndexDefinitionRow] = []
    ) -> Schema {
        var types: [String: RecordTypeSchema] = [:]
        var roles: Set<String> = []
        var members: [String: Set<Int64>] = [:]
        var makers: [String: Int64] = [:]
        var fieldMakers: [String: [Int64: Set<String>]] = [:]
        for name in recordTypes { types[name] = RecordTypeSchema(automatic: name) }
        var gone: [String] = []
        for row in fields {
            if row.recordType == container {
                if row.field.hasPrefix("@"), row.type.hasPrefix(made) {
                    addMaker(row, &makers, &fieldMakers)
                    continue
                }
                if row.type == role { roles.insert(row.field) }
                let parts = row.field.split(separator: "@")
                if row.type == member, parts.count == 2, let account = Int64(parts[1]) {
                    members[String(parts[0]), default: []].insert(account)
                }
            } else if row.field == typeItself {
                if row.type == dropped {
                    gone.append(row.recordType)
                } else if let grants = SchemaParser.grants(row.type) {
                    types[row.recordType, default: RecordTypeSchema(automatic: row.recordType)].grants = grants
                }
            } else if let field = field(row.type) {
                types[row.recordType, default: RecordTypeSchema(automatic: row.recordType)].fields[row.field] = field
            }
        }
        for row in indexes {
            guard let index = IndexSignature(row.components), index.components.count > 1 else { continue }
            types[row.recordType]?.indexes.insert(index)
        }
        for name in gone { types[name] = nil }
        return Schema(recordTypes: types, roles: roles, members: members, makers: makers, fieldMakers: fieldMakers)
    }

    /// Adds the account whose first save made a record type or a field.
    private static func addMaker(
        _ row: SchemaFieldRow, _ makers: inout [String: Int64], _ fieldMakers: inout [String: [Int64: Set<String>]]
    ) {
        let account = Int64(row.type.dropFirst(made.count))
        let names = row.field.dropFirst().split(separator: "@", maxSplits: 1).map(String.init)
        if names.count == 1 {
            makers[names[0]] = account
        } else if names.count == 2, let account {
            fieldMakers[names[0], default: [:]][account, default: []].insert(names[1])
        }
    }

    private static func field(_ text: String) -> SchemaField? {
        if text.hasSuffix(" " + unindexed) {
            return SchemaParser.fieldDefinition(String(text.dropLast(unindexed.count + 1)))
        }
        guard let field = SchemaParser.fieldDefinition(text) else { return nil }
        return field.options.isEmpty ? SchemaField(automatic: field.type) : field
    }

    // MARK: - Writing

    static func row(newRecordType name: String) -> SchemaFieldRow {
        SchemaFieldRow(recordType: name, field: typeItself, type: "")
    }

    /// - Parameter maker: the ID of the account whose save made the type; nil if no save did.
    static func row(maker: Int64?, ofRecordType name: String) -> SchemaFieldRow {
        SchemaFieldRow(recordType: container, field: "@\(name)", type: maker.map { "\(made)\($0)" } ?? "")
    }

    static func row(maker: Int64, ofField name: String, in recordType: String) -> SchemaFieldRow {
        SchemaFieldRow(recordType: container, field: "@\(recordType)@\(name)", type: "\(made)\(maker)")
    }

    static func row(_ field: SchemaField, named name: String, of recordType: String) -> SchemaFieldRow {
        let text = SchemaPrinter.definition(field)
        return SchemaFieldRow(
            recordType: recordType, field: name, type: field.options.isEmpty ? text + " " + unindexed : text)
    }

    static func row(ofMember account: Int64, role: String, isMember: Bool) -> SchemaFieldRow {
        SchemaFieldRow(recordType: container, field: "\(role)@\(account)", type: isMember ? member : "")
    }

    /// Rewrites the stored schema from `old` to `new`, by writing the rows that differ.
    static func write(_ new: Schema, replacing old: Schema, in transaction: StorageTransaction) throws {
        for role in new.roles.symmetricDifference(old.roles) {
            try transaction.put(
                SchemaFieldRow(
                    recordType: container, field: role, type: new.roles.contains(role) ? Self.role : ""))
            // The members lose a deleted role, so no account has the role if it is created again.
            for account in old.members[role] ?? [] {
                try transaction.put(row(ofMember: account, role: role, isMember: false))
            }
        }
        for name in Set(old.recordTypes.keys).union(new.recordTypes.keys).sorted() {
            try write(new.recordTypes[name], replacing: old.recordTypes[name], named: name, in: transaction)
            if new.recordTypes[name] == nil, old.makers[name] != nil {
                try transaction.put(row(maker: nil, ofRecordType: name))
            }
        }
    }

    private static func write(
        _ new: RecordTypeSchema?, replacing old: RecordTypeSchema?, named name: String,
        in transaction: StorageTransaction
    ) throws {
        if new == old { return }
        for field in old?.fields.keys.sorted() ?? [] where new?.fields[field] == nil {
            try transaction.put(SchemaFieldRow(recordType: name, field: field, type: ""))
        }
        guard let new else {
            try transaction.put(SchemaFieldRow(recordType: name, field: typeItself, type: dropped))
            return
        }
        try transaction.insertRecordType(name)
        if old == nil || old?.grants != new.grants {
            let grants = SchemaPrinter.grants(new.grants).joined(separator: ", ")
            try transaction.put(SchemaFieldRow(recordType: name, field: typeItself, type: grants))
        }
        for (field, definition) in new.orderedFields where old?.fields[field] != definition {
            try transaction.put(row(definition, named: field, of: name))
        }
    }
}

extension Schema {
    /// Replaces the stored schema `old` with this one. The store must contain exactly `old`.
    func write(replacing old: Schema, in transaction: StorageTransaction) throws {
        try SchemaRows.write(self, replacing: old, in: transaction)
    }
}
