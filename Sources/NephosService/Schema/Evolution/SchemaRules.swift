/// The rules that a schema must keep regardless of an earlier schema (CloudKit Schema Language):
///
/// - the name of a record type, field or role is a letter followed by letters, digits and underscores, at most 255
///   characters; the system's types and fields have names of their own;
/// - a system field has the system's type, and `roles` of `Users` is a `LIST<INT64>`;
/// - an option must be possible for the field's type: ASSET and encrypted fields have no index, and only STRING and
///   LIST<STRING> are searchable. An option that merely has no effect is a warning;
/// - a composite index must be usable by a query, and a type has at most `Limits.indexesPerType` composite indexes;
/// - a grant names an existing role.
struct SchemaRules {
    static func findings(_ schema: Schema) -> [SchemaFinding] {
        var rules = SchemaRules()
        for role in schema.roles { rules.check(name: role, .role(role)) }
        for (name, type) in schema.recordTypes {
            if !SystemRecordType.all.contains(name) { rules.check(name: name, .recordType(name)) }
            for (field, definition) in type.fields {
                rules.check(field: field, definition, of: name)
            }
            rules.check(indexesOf: type, named: name)
            for role in type.grants.keys where !SystemRole.all.contains(role) && !schema.roles.contains(role) {
                rules.refuse(
                    .grant(recordType: name, role: role),
                    "names a role that does not exist; add CREATE ROLE \(SchemaNames.written(role));")
            }
        }
        return rules.findings
    }

    private var findings: [SchemaFinding] = []

    private mutating func refuse(_ element: SchemaElement, _ reason: String) {
        findings.append(SchemaFinding(.error, element, reason))
    }

    private mutating func check(name: String, _ element: SchemaElement) {
        if Identifier.isValid(name) { return }
        refuse(
            element,
            "must be named with a letter followed by letters, digits and underscores, at most \(Limits.identifierLength)"
        )
    }

    private mutating func check(field name: String, _ field: SchemaField, of recordType: String) {
        let element = SchemaElement.field(recordType: recordType, name: name)
        if let type = RecordTypeSchema.fixedType(of: name, in: recordType) {
            if field.type != type {
                refuse(element, "belongs to the system and stays \(type.text)")
                return
            }
        } else if !(recordType == SystemRecordType.share && SystemRecordType.isShareField(name)) {
            check(name: name, element)
        }
        check(options: field, element)
    }

    private mutating func check(indexesOf type: RecordTypeSchema, named name: String) {
        if type.indexes.count > Limits.indexesPerType {
            refuse(
                .recordType(name),
                "has \(type.indexes.count) indexes of several fields; at most \(Limits.indexesPerType) are allowed")
        }
        for index in type.indexes {
            if let problem = index.problem(type) { refuse(.index(recordType: name, fields: index.fieldList), problem) }
        }
    }

    private mutating func check(options field: SchemaField, _ element: SchemaElement) {
        let excess = field.options.subtracting(.possible(for: field.type))
        let ignored = excess.intersection(.tolerated(for: field.type))
        let refused = excess.subtracting(ignored)
        if !refused.isEmpty {
            let remedy =
                IndexOptions.possible(for: field.type).isEmpty
                ? "fields of the type have no index"
                : "it can be " + IndexOptions.possible(for: field.type).names.joined(separator: ", ")
            refuse(element, "is \(field.type.text) and cannot be \(refused.names.joined(separator: ", ")); \(remedy)")
        }
        if !ignored.isEmpty {
            findings.append(
                SchemaFinding(
                    .warning, element,
                    "is \(field.type.text): \(ignored.names.joined(separator: ", ")) is kept and has no effect"))
        }
    }
}

extension SystemRecordType {
    static let all: Set<String> = [user, share]

    /// Whether a field of the share type has the name of a system field, such as `cloudkit.title`.
    static func isShareField(_ name: String) -> Bool {
        name.hasPrefix("cloudkit.") && Identifier.isValid(String(name.dropFirst("cloudkit.".count)))
    }
}
