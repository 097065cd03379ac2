import NephosStorage
import NephosWire

/// Drops a field and its values from the development schema (`nephos schema drop`), so that a field of that name can be
/// added with another type.
struct FieldDrop {
    let recordType: String
    let field: String
    let environment: ServiceEnvironment

    /// Erases the values in transactions of `recordsPerStep` records, then drops the field by a schema import, which
    /// checks for values again.
    func run(on store: Store, production: Schema) async throws -> SchemaReport {
        let schema = try await store.engine.read { try Schema($0) }
        guard let text = schema.text(without: field, of: recordType) else { return refusal(schema) }
        let administration = SchemaAdministration(environment: environment)
        let plan = SchemaCommands.planImport(text, development: schema, production: production)
        if !plan.isAllowed { return SchemaReport(plan.findings) }
        var erased = 0
        var report = SchemaReport()
        // Concurrent saves may write values before the import, so the loop erases and imports again.
        for _ in 1...Self.attempts {
            erased += try await erase(in: store)
            let schema = try await store.engine.read { try Schema($0) }
            guard let text = schema.text(without: field, of: recordType) else { return refusal(schema) }
            report = try await administration.importSchema(text, into: store, production: production, isDryRun: false)
            if report.isAllowed { break }
        }
        let values = "values of '\(field)' erased from \(erased) \(erased == 1 ? "record" : "records")"
        if report.isAllowed {
            report.changes.append(values)
        } else if erased > 0 {
            let message = "\(values), but the field is there still: stop the clients that save it, and repeat"
            report.findings.insert(SchemaReport.Finding(isError: true, message: message), at: 0)
        }
        return report
    }

    private static let attempts = 3
    private static let recordsPerStep = 200

    /// Reports why the field cannot be dropped, and suggests similar names.
    private func refusal(_ schema: Schema) -> SchemaReport {
        let message: String
        if let type = schema.recordType(recordType) {
            let own = type.fields.keys.filter { RecordTypeSchema.fixedType(of: $0, in: recordType) == nil }
            message =
                RecordTypeSchema.fixedType(of: field, in: recordType) == nil
                ? "record type '\(recordType)' has no field '\(Identifier.excerpt(field))'"
                    + Suggestion.clause(for: field, among: own)
                : "field '\(field)' of record type '\(recordType)' is the system's"
        } else {
            message =
                "there is no record type '\(Identifier.excerpt(recordType))'"
                + Suggestion.clause(for: recordType, among: schema.recordTypes.keys)
        }
        return SchemaReport(findings: [SchemaReport.Finding(isError: true, message: message)])
    }

    // MARK: - Values

    /// - Returns: the number of records whose value was erased.
    private func erase(in store: Store) async throws -> Int {
        var erased = 0
        let end = try await store.engine.write { try $0.nextSeparatingSequence() }
        for zone in try await store.engine.read({ try $0.zones(after: 0, limit: .max) }) {
            var position: Int64? = 0
            while let start = position {
                let step = try await store.engine.write(of: [zone.key.owner]) { transaction in
                    try erase(in: zone, after: start, to: end, store, transaction)
                }
                if step.leftEvents { store.fanOut.wake() }
                erased += step.erased
                position = step.position
            }
        }
        await store.continueInBackground()
        return erased
    }

    private struct Step: Sendable {
        /// The sequence after which the next step starts; nil after the last step.
        var position: Int64?
        var erased = 0
        var leftEvents = false
    }

    private func erase(
        in zone: ZoneRow, after start: Int64, to end: Int64, _ store: Store, _ transaction: StorageTransaction
    ) throws -> Step {
        let rows = try transaction.records(
            zone: zone.key, after: start, limit: Self.recordsPerStep, size: Limits.changesSize)
        var step = Step(position: rows.last.flatMap { $0.sequence < end ? $0.sequence : nil })
        try store.watched.refresh(transaction)
        let indexes = IndexWriter(definitions: try store.indexes.definitions(in: transaction), accounts: store.accounts)
        let changes = store.notifier.changes(in: zone.key)
        let sharedChanges = SharedChanges(store.notifier.watched)
        for stored in rows where holdsField(stored) {
            var row = stored
            row.modifiedAt = environment.now()
            row.fields =
                EncodedFields(bytes: stored.fields).merging(RecordFields([.init(name: field, field: Field(nil))]))
                .bytes
            let save = PlannedSave(
                row: row, stored: stored, fields: RecordFields([.init(name: field, field: Field(nil))]),
                oldEdges: ReferenceGraph.edges(of: stored), newEdges: ReferenceGraph.edges(of: row), isWhole: false)
            let saved = try RecordWriter.save(save, indexes, changes, in: transaction)
            try SharedRecords.changed(saved, sharedChanges, in: transaction)
            step.erased += 1
        }
        if step.erased == 0 { return step }
        if ZoneRules.hasChangeFeed(zone.name) { try transaction.noteChange(zone: zone.key) }
        step.leftEvents = try store.notifier.notify(of: changes, in: zone, by: nil, transaction)
        _ = try sharedChanges.leaveJobs(zone: zone.key, by: nil, in: transaction)
        return step
    }

    private func holdsField(_ row: RecordRow) -> Bool {
        guard !row.isDeleted, row.type == recordType else { return false }
        let held = try? EncodedFields(bytes: row.fields).selecting([field]).decoded()
        return held?[field]?.value != nil
    }
}

extension Schema {
    /// The schema's text without a field and without the indexes that contain the field; nil if the record type lacks
    /// the field or the field is a system field.
    fileprivate func text(without field: String, of recordType: String) -> String? {
        guard var type = recordTypes[recordType], type.fields[field] != nil,
            RecordTypeSchema.fixedType(of: field, in: recordType) == nil
        else { return nil }
        type.fields[field] = nil
        type.indexes = type.indexes.filter { index in !index.components.contains { $0.field == field } }
        var schema = self
        schema.set(type, named: recordType)
        return SchemaCommands.export(schema)
    }
}
