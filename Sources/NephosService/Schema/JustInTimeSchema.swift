import NephosStorage
import NephosWire

/// The record types and fields that a save adds to the schema. In development "the first time you set a value for a key
/// and save the record, the server associates that type with the key for all records of the same type"; in production
/// an unknown type or field is an error (`CKRecord`, Apple's documentation).
struct SchemaAdditions: Equatable {
    struct AddedField: Equatable {
        var recordType: String
        var field: String
        var type: SchemaType
        /// The ID of the saving account; nil if that account also made the record type.
        var maker: Int64?
    }

    var recordTypes: [String] = []
    var fields: [AddedField] = []
    /// The ID of the saving account; nil if no account is counted.
    var maker: Int64?

    var isEmpty: Bool { recordTypes.isEmpty && fields.isEmpty }

    func apply(in transaction: StorageTransaction) throws {
        for type in recordTypes {
            try transaction.insertRecordType(type)
            try transaction.put(SchemaRows.row(newRecordType: type))
            if let maker { try transaction.put(SchemaRows.row(maker: maker, ofRecordType: type)) }
        }
        for added in fields {
            try transaction.put(
                SchemaRows.row(SchemaField(automatic: added.type), named: added.field, of: added.recordType))
            if let maker = added.maker {
                try transaction.put(SchemaRows.row(maker: maker, ofField: added.field, in: added.recordType))
            }
        }
    }
}

/// The callers whose saves add record types and fields to a schema.
enum SchemaGrowth: Equatable {
    /// Every caller, as in development.
    case open
    /// The developers of the container, and the caller is none.
    case developersOnly
    /// No caller: only imports and deployments change the schema, as in production.
    case none
}

/// Checks records against a schema that grows with them.
struct JustInTimeSchema {
    let growth: SchemaGrowth
    /// The ID of the saving account; nil if no account is counted.
    let maker: Int64?
    /// The schema with all additions so far.
    private(set) var schema: Schema
    private(set) var hasGrown = false
    /// Whether a save was refused for what the schema lacks: another server may have added it.
    private(set) var hasLacked = false

    init(schema: Schema, maker: Int64? = nil, growth: SchemaGrowth = .open) {
        self.growth = growth
        self.maker = maker
        self.schema = schema
    }

    /// Whether the record type needs an entry in the schema. Shares need none in a schema that the caller does not extend,
    /// because the system defines their fields (`CKRecord.SystemType.share`). The app's fields of shares need theirs.
    func admits(_ recordType: String) -> Bool {
        guard recordType == SystemRecordType.share else { return true }
        return switch growth {
        case .open: true
        case .developersOnly: schema.recordType(recordType) != nil
        case .none: false
        }
    }

    /// Returns the fields fitted to the schema, as `admit(_:recordType:)` does, or to the system's definition of
    /// shares.
    mutating func admit(
        _ fields: RecordFields, ofRecordOf recordType: String
    ) throws(ServiceError) -> RecordFields {
        if admits(recordType) { return try admit(fields, recordType: recordType).fields }
        var fitted = fields
        for entry in fields.entries where entry.field.value != nil {
            let system = SystemRecordType.type(ofField: entry.name, of: recordType)
            guard let type = system ?? schema.type(of: entry.name, in: recordType) else {
                try checkMayExtend(or: "Cannot create or modify field '\(entry.name)' in record '\(recordType)'")
                continue
            }
            let value = try FieldTypeRules.fit(entry.field, to: type, name: entry.name, recordType: recordType)
            if let value { fitted[entry.name] = Field(value, isEncrypted: entry.field.isEncrypted) }
        }
        return fitted
    }

    /// Throws with the refusal unless the save may extend the schema.
    private mutating func checkMayExtend(or refusal: String) throws(ServiceError) {
        switch growth {
        case .open: return
        case .developersOnly:
            hasLacked = true
            throw .invalid("\(refusal) in the schema: only developers of the container extend it by saving")
        case .none: throw .invalid("\(refusal) in production schema")
        }
    }

    /// Fits a record's fields to the schema. A value without a type gets the field's type.
    /// - Returns: the fields, and the additions that their save makes to the schema.
    mutating func admit(
        _ fields: RecordFields, recordType: String
    ) throws(ServiceError) -> (fields: RecordFields, additions: SchemaAdditions) {
        var additions = SchemaAdditions(maker: maker)
        let known = schema.recordType(recordType)
        if known == nil {
            try checkMayExtend(or: "Cannot create new type \(recordType)")
            additions.recordTypes.append(recordType)
        }
        var fitted = fields
        for entry in fields.entries {
            guard let value = entry.field.value else { continue }
            let system = SystemRecordType.type(ofField: entry.name, of: recordType)
            if let type = system ?? known?.fields[entry.name]?.type {
                let value = try FieldTypeRules.fit(entry.field, to: type, name: entry.name, recordType: recordType)
                if let value { fitted[entry.name] = Field(value, isEncrypted: entry.field.isEncrypted) }
                if let system, known?.fields[entry.name] == nil {
                    additions.fields.append(.init(recordType: recordType, field: entry.name, type: system))
                }
            } else {
                let type = try inferredType(of: value, entry, recordType)
                let isMakers = known == nil || schema.makers[recordType] == maker
                additions.fields.append(
                    .init(recordType: recordType, field: entry.name, type: type, maker: isMakers ? nil : maker))
            }
        }
        try checkSize(additions, known, recordType)
        if !additions.isEmpty { hasGrown = true }
        for type in additions.recordTypes { schema.add(recordType: type, maker: maker) }
        for added in additions.fields {
            schema.add(field: added.field, added.type, to: added.recordType, maker: added.maker)
        }
        return (fitted, additions)
    }

    /// The type of a new field, inferred from the field's first value.
    private mutating func inferredType(
        of value: FieldValue, _ entry: RecordFields.Entry, _ recordType: String
    ) throws(ServiceError) -> SchemaType {
        try checkMayExtend(or: "Cannot create or modify field '\(entry.name)' in record '\(recordType)'")
        guard let type = SchemaType(inferredFrom: value, isEncrypted: entry.field.isEncrypted) else {
            // Apple's words, which developers know.
            throw .invalid(
                "cannot use an empty list to initialize a new field (field '\(entry.name)' in record type"
                    + " '\(recordType)' should be more precise)")
        }
        guard !type.isEncrypted || SchemaType.canBeEncrypted(type.scalar) else {
            throw .invalid(
                "field '\(entry.name)' of type '\(recordType)': a value of type \(value.type.wireName) cannot be encrypted"
            )
        }
        return type
    }

    private func checkSize(
        _ additions: SchemaAdditions, _ known: RecordTypeSchema?, _ recordType: String
    ) throws(ServiceError) {
        if known == nil, schema.recordTypes.count >= Limits.typesPerContainer {
            throw .limitExceeded(
                "record type '\(recordType)' is not in the schema, to which saves add no more than"
                    + " \(Limits.typesPerContainer) types: add it by an import")
        }
        if known == nil, let maker, schema.typesMade(by: maker) >= Limits.typesPerAccount {
            throw .limitExceeded(
                "record type '\(recordType)' is not in the schema, to which the saves of one account add no more than"
                    + " \(Limits.typesPerAccount) types: add it by an import")
        }
        let added = additions.fields.filter { SystemRecordType.type(ofField: $0.field, of: recordType) == nil }
        let own = added.count { $0.maker != nil }
        if own > 0, let maker, schema.fieldsMade(by: maker, in: recordType) + own > Limits.fieldsPerAccount {
            throw .limitExceeded(
                "fields of record '\(recordType)' are not in the schema; to a type that an account did not make its saves add"
                    + " no more than \(Limits.fieldsPerAccount): add them by an import")
        }
        let fields = (known?.fields.count ?? 0) + added.count
        if !added.isEmpty, fields > Limits.fieldsPerType {
            throw .limitExceeded(
                "record type '\(recordType)' would have \(fields) fields; saves add no more than"
                    + " \(Limits.fieldsPerType) to the schema")
        }
    }
}
