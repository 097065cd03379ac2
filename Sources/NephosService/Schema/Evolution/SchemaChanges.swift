/// Stored data that a schema change would drop: all records of a type, or the values of one field.
package struct SchemaLoss: Hashable, Sendable {
    package var recordType: String
    /// The field whose values would be dropped; nil for all records of the type.
    package var field: String?

    package init(recordType: String, field: String? = nil) {
        self.recordType = recordType
        self.field = field
    }

    /// The maximum number of records that one finding names.
    static let namedRecords = 5

    package var element: SchemaElement {
        field.map { .field(recordType: recordType, name: $0) } ?? .recordType(recordType)
    }

    /// The refusal of an import because records hold data that the import would drop.
    /// - Parameters:
    ///   - recordNames: the names of some of these records.
    ///   - count: the number of these records.
    package func finding(recordNames: [String], count: Int) -> SchemaFinding {
        let names = recordNames.prefix(Self.namedRecords).map { "'\(Identifier.excerpt($0))'" }
        let more = count > names.count ? " and \(count - names.count) more" : ""
        return SchemaFinding(
            .error, element,
            "cannot be dropped: \(count) \(count == 1 ? "record" : "records") would lose data:"
                + " \(names.joined(separator: ", "))\(more)")
    }
}

/// The index options that a schema change adds to a field and removes from it.
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

/// The diff of two schemas with respect to stored data.
enum SchemaChanges {
    /// The elements of `old` that `new` lacks, ordered by name. A missing record type stands for all its fields.
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

    /// The fields whose index options differ, ordered by name. Record types that only `new` has are excluded, because
    /// they have no records yet.
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

    /// All differences between two schemas, one sentence each: additions, changes, drops.
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
