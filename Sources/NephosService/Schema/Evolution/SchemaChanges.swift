/// Stored data that a schema change would drop.
package struct SchemaLoss: Hashable, Sendable {
    package var recordType: String
    /// Nil for all records of the type.
    package var field: String?

    package init(recordType: String, field: String? = nil) {
        self.recordType = recordType
        self.field = field
    }

    /// The number of records that a finding names.
    static let namedRecords = 5

    package var element: SchemaElement {
        field.map { .field(recordType: recordType, name: $0) } ?? .recordType(recordType)
    }

    /// The refusal of an import: records hold data that it would drop.
    /// - Parameters:
    ///   - recordNames: some of the records.
    ///   - count: the number of such records.
    package func finding(recordNames: [String], count: Int) -> SchemaFinding {
        let names = recordNames.prefix(Self.namedRecords).map { "'\(Identifier.excerpt($0))'" }
        let more = count > names.count ? " and \(count - names.count) more" : ""
        return SchemaFinding(
            .error, element,
            "cannot be dropped: \(count) \(count == 1 ? "record" : "records") would lose data:"
                + " \(names.joined(separator: ", "))\(more)")
    }
}

/// Indexes that a schema change adds to a field or removes from it.
package struct IndexChange: Hashable, Sendable {
    package var recordType: String
    package var field: String
    package var added: IndexOptions
    package var removed: IndexOptions

    package init(recordType: String, field: String, added: IndexOptions, removed: IndexOptions) {
        self.recordType = recordType
        self.field = field
        self.added = added
        self.removed = removed
    }
}

/// The difference between two schemas with respect to stored data.
enum SchemaChanges {
    /// The elements of `old` that `new` lacks, by name. A missing type stands for all its fields.
    static func losses(from old: Schema, to new: Schema) -> [SchemaLoss] {
        var losses: [SchemaLoss] = []
        for (name, type) in old.recordTypes.sorted(by: { $0.key < $1.key }) {
            guard let kept = new.recordTypes[name] else {
                losses.append(SchemaLoss(recordType: name))
                continue
            }
            for field in type.fields.keys.sorted() where kept.fields[field] == nil {
                losses.append(SchemaLoss(recordType: name, field: field))
            }
        }
        return losses
    }

    /// The fields whose indexes differ, by name. Excludes types that only `new` has: they have no records yet.
    static func indexChanges(from old: Schema, to new: Schema) -> [IndexChange] {
        var changes: [IndexChange] = []
        for (name, type) in old.recordTypes.sorted(by: { $0.key < $1.key }) {
            let fields = Set(type.fields.keys).union(new.recordTypes[name]?.fields.keys.map { $0 } ?? [])
            for field in fields.sorted() {
                let before = old.options(of: field, in: name)
                let after = new.options(of: field, in: name)
                if before == after { continue }
                changes.append(
                    IndexChange(
                        recordType: name, field: field, added: after.subtracting(before),
                        removed: before.subtracting(after)))
            }
        }
        return changes
    }

    /// All differences, a sentence each: additions, changes, drops.
    static func sentences(from old: Schema, to new: Schema) -> [String] {
        var sentences: [String] = []
        for role in new.roles.subtracting(old.roles).sorted() { sentences.append("\(SchemaElement.role(role)) added") }
        for role in old.roles.subtracting(new.roles).sorted() {
            sentences.append("\(SchemaElement.role(role)) dropped")
        }
        for name in Set(old.recordTypes.keys).union(new.recordTypes.keys).sorted() {
            let element = SchemaElement.recordType(name)
            switch (old.recordTypes[name], new.recordTypes[name]) {
            case (nil, .some): sentences.append("\(element) added")
            case (.some, nil): sentences.append("\(element) dropped")
            case (let before?, let after?): sentences += differences(name, before, after)
            case (nil, nil): break
            }
        }
        return sentences
    }

    private static func differences(
        _ recordType: String, _ old: RecordTypeSchema, _ new: RecordTypeSchema
    ) -> [String] {
        var sentences: [String] = []
        for name in Set(old.fields.keys).union(new.fields.keys).sorted() {
            let element = SchemaElement.field(recordType: recordType, name: name)
            switch (old.fields[name], new.fields[name]) {
            case (nil, let field?): sentences.append("\(element) added: \(SchemaPrinter.definition(field))")
            case (.some, nil): sentences.append("\(element) dropped")
            case (let before?, let after?) where before != after:
                sentences.append(
                    "\(element) changed from \(SchemaPrinter.definition(before)) to"
                        + " \(SchemaPrinter.definition(after))")
            default: break
            }
        }
        for index in new.indexes.subtracting(old.indexes).sorted(by: { $0.text < $1.text }) {
            sentences.append("\(SchemaElement.index(recordType: recordType, fields: index.fieldList)) added")
        }
        for index in old.indexes.subtracting(new.indexes).sorted(by: { $0.text < $1.text }) {
            sentences.append("\(SchemaElement.index(recordType: recordType, fields: index.fieldList)) dropped")
        }
        let grants = SchemaPrinter.grants(new.grants)
        if SchemaPrinter.grants(old.grants) != grants {
            sentences.append(
                "grants of \(SchemaElement.recordType(recordType)) changed to \(grants.joined(separator: ", "))")
        }
        return sentences
    }
}
