/// The effect of a schema change. The change may be executed if `findings` has no errors.
package struct SchemaPlan: Equatable, Sendable {
    package var findings: [SchemaFinding]
    /// The schema after the change.
    package var schema: Schema
    /// The data that the change drops. An import is refused if a record holds any of that data.
    package var losses: [SchemaLoss]
    package var indexChanges: [IndexChange]
    /// All differences between the schemas, one sentence each.
    package var changes: [String] = []

    package var isAllowed: Bool { !findings.hasErrors }
}

/// The rules of schema changes (CloudKit Schema Language, "Integrating a Text-Based Schema into Your Workflow").
///
/// An import replaces the development schema; the imported text is the whole new schema:
/// - it keeps the rules of `SchemaRules`, and declares nothing twice;
/// - a type or field that it omits is dropped, which is refused if production has that type or field. The system's
///   elements stay: `Users` with its `roles`, and the type of shares;
/// - a field keeps its type, and stays plain or encrypted;
/// - a `NUMBER` may be given a preference, once;
/// - options, grants and roles change freely. An omitted system field loses its indexes;
/// - a type without a grant gets the standard grants;
/// - a composite index that it omits is removed.
///
/// A deployment copies the development schema to production and drops nothing. Types, fields, indexes and roles are
/// added; the grants are replaced by development's.
enum SchemaEvolution {
    /// Plans an import into the development schema.
    static func importing(_ text: ParsedSchema, into development: Schema, production: Schema) -> SchemaPlan {
        let schema = completed(text.schema, development)
        var findings = text.duplicates + SchemaRules.findings(schema)
        let losses = SchemaChanges.losses(from: development, to: schema)
        for loss in Set(losses).union(SchemaChanges.losses(from: production, to: schema)) where isIn(production, loss) {
            findings.append(
                SchemaFinding(.error, loss.element, "is in the schema of production and cannot be removed"))
        }
        for (name, type) in schema.recordTypes {
            for (field, definition) in type.fields {
                findings += retyping(
                    .field(recordType: name, name: field), to: definition.type,
                    development: development.type(of: field, in: name),
                    production: production.type(of: field, in: name))
            }
        }
        return SchemaPlan(
            findings: located(findings, text), schema: schema, losses: losses,
            indexChanges: SchemaChanges.indexChanges(from: development, to: schema))
    }

    /// Plans a deployment of the development schema to production.
    static func deploying(_ development: Schema, to production: Schema) -> SchemaPlan {
        var findings = SchemaRules.findings(development)
        var schema = production
        for role in development.roles { schema.add(role: role) }
        for (name, type) in development.recordTypes {
            var merged = production.recordTypes[name] ?? RecordTypeSchema()
            merged.grants = type.grants
            merged.indexes.formUnion(type.indexes)
            for (field, definition) in type.fields {
                guard let deployed = merged.fields[field] else {
                    merged.fields[field] = definition
                    continue
                }
                findings += retyping(
                    .field(recordType: name, name: field), to: definition.type, development: nil,
                    production: deployed.type)
                merged.fields[field] = SchemaField(
                    definition.type.preference == nil ? deployed.type : definition.type,
                    deployed.options.union(definition.options))
            }
            schema.set(merged, named: name)
        }
        return SchemaPlan(
            findings: findings.inTextOrder(), schema: schema,
            losses: SchemaChanges.losses(from: production, to: schema),
            indexChanges: SchemaChanges.indexChanges(from: production, to: schema))
    }

    // MARK: - Rules

    /// The schema completed with the system's elements and the standard grants.
    static func completed(_ schema: Schema, _ old: Schema) -> Schema {
        var completed = schema
        completed.add(recordType: SystemRecordType.user)
        for name in SystemRecordType.all {
            guard let kept = old.recordTypes[name] else { continue }
            guard var type = schema.recordTypes[name] else {
                completed.set(kept, named: name)
                continue
            }
            for (field, definition) in kept.fields where type.fields[field] == nil && isSystemField(field, of: name) {
                type.fields[field] = definition
            }
            completed.set(type, named: name)
        }
        for (name, type) in completed.recordTypes {
            var type = type
            if name == SystemRecordType.user && type.fields[RecordTypeSchema.rolesField] == nil {
                type.fields[RecordTypeSchema.rolesField] = SchemaField(RecordTypeSchema.rolesType)
            }
            type.grants = completed.grants(of: name)
            completed.set(type, named: name)
        }
        return completed
    }

    private static func isSystemField(_ field: String, of recordType: String) -> Bool {
        switch recordType {
        case SystemRecordType.user: field == RecordTypeSchema.rolesField
        case SystemRecordType.share: SystemRecordType.isShareField(field)
        default: false
        }
    }

    private static func isIn(_ schema: Schema, _ loss: SchemaLoss) -> Bool {
        guard let field = loss.field else { return schema.hasRecordType(loss.recordType) }
        return schema.type(of: field, in: loss.recordType) != nil
    }

    /// Refuses a change of a field's type. Production's type is compared first, because a deployed type cannot be
    /// changed back.
    private static func retyping(
        _ element: SchemaElement, to new: SchemaType, development: SchemaType?, production: SchemaType?
    ) -> [SchemaFinding] {
        guard let old = [production, development].compactMap(\.self).first(where: { !mayBecome($0, new) }) else {
            return []
        }
        // `SchemaRules` refuses a system field of the wrong type.
        if case .field(let recordType, let name) = element,
            RecordTypeSchema.fixedType(of: name, in: recordType) != nil
        {
            return []
        }
        if old.preference != nil && new.scalar == .number && new.isList == old.isList {
            return [SchemaFinding(.error, element, "is \(old.text), which never changes")]
        }
        let remedy =
            production == nil
            ? "remove the field in one import and add it in the next, or add a field with another name"
            : "add a field with another name"
        let reason =
            old.isEncrypted == new.isEncrypted
            ? "is \(old.text) and cannot become \(new.text)"
            : "is \(old.text) and cannot become \(new.text): a field stays plain or encrypted"
        return [SchemaFinding(.error, element, "\(reason); \(remedy)")]
    }

    private static func mayBecome(_ old: SchemaType, _ new: SchemaType) -> Bool {
        if old == new { return true }
        var pinned = old
        pinned.preference = new.preference
        return old.scalar == .number && old.preference == nil && pinned == new
    }

    private static func located(_ findings: [SchemaFinding], _ text: ParsedSchema) -> [SchemaFinding] {
        findings.map { finding in
            guard finding.position == nil, let element = finding.element else { return finding }
            var finding = finding
            finding.position = text.positions[element]
            return finding
        }.inTextOrder()
    }
}
