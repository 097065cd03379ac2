import NephosStorage
import NephosWire

/// Everything a batch does to one zone, decided. Applying it is the only place that writes records.
struct ModifyPlan {
    let decisions: [ItemDecision]
    /// The records that go with the deleted ones, at once.
    let cascade: [String]
    /// The deleted records whose owned records are deleted in the background.
    let backgroundCascade: [String]
    /// What was found of them, where they are many.
    private let graph: BatchGraph?
    /// What happens to the zone's shares.
    let sharing: SharePlan
    /// What the saves that are left add to the schema, and the schema with it.
    let additions: SchemaAdditions
    let schema: Schema
    /// Whether the batch mentions record types or fields that the schema it was planned with lacks.
    let needsSchemaRead: Bool

    init(
        decisions: [ItemDecision], cascade: [String], backgroundCascade: [String], graph: BatchGraph?,
        sharing: SharePlan, base: Schema, draft: JustInTimeSchema
    ) throws {
        self.decisions = decisions
        self.cascade = cascade
        self.backgroundCascade = backgroundCascade
        self.graph = graph
        self.sharing = sharing
        needsSchemaRead = draft.hasGrown
        var additions = SchemaAdditions(maker: draft.maker)
        var growing = JustInTimeSchema(environment: draft.environment, schema: base, maker: draft.maker)
        if draft.hasGrown {
            // Only now is it known which saves remain, so only now what the schema gains.
            for case .save(let save) in decisions where growing.admits(save.row.type) {
                let added = try growing.admit(save.fields, recordType: save.row.type).additions
                additions.recordTypes += added.recordTypes
                additions.fields += added.fields
            }
        }
        self.additions = additions
        schema = growing.schema
    }

    var leavesJobs: Bool { !backgroundCascade.isEmpty || !sharing.moves.isEmpty }

    /// Writes the plan and says what became of each item.
    func apply(_ batch: ZoneBatch, in transaction: StorageTransaction) throws -> [RecordOutcome] {
        try additions.apply(in: transaction)
        let outcomes = try decisions.map { try apply($0, batch, transaction) }
        try deleteCascade(batch, in: transaction)
        try sharing.apply(batch, in: transaction)
        try noteChange(batch, in: transaction)
        return outcomes
    }

    /// The zone is where its newest record is in its database's feed.
    private func noteChange(_ batch: ZoneBatch, in transaction: StorageTransaction) throws {
        let changes = decisions.contains { decision in
            switch decision {
            case .save, .delete, .leave: true
            case .nothing, .refuse: false
            }
        }
        guard changes, ZoneRules.hasChangeFeed(batch.zone.name) else { return }
        try transaction.noteChange(zone: batch.zone.key)
    }

    private func apply(
        _ decision: ItemDecision, _ batch: ZoneBatch, _ transaction: StorageTransaction
    ) throws -> RecordOutcome {
        switch decision {
        case .save(let save):
            return .saved(try RecordWriter.save(save, batch.indexes, batch.changes, in: transaction))
        case .delete(let row):
            let leavesJob = backgroundCascade.contains(row.name)
            let tombstone = try delete(row, separates: leavesJob, batch, transaction)
            if leavesJob { try transaction.insert(BackgroundJob.cascade(from: tombstone)) }
            return .deleted(type: row.type)
        case .leave(let row):
            return .deleted(type: row.type)
        case .nothing:
            return .deleted(type: nil)
        case .refuse(let error, let server):
            return .refused(error, server: server)
        }
    }
}

extension ModifyPlan {
    /// Deletes what goes along, by sets.
    private func deleteCascade(_ batch: ZoneBatch, in transaction: StorageTransaction) throws {
        for start in stride(from: 0, to: cascade.count, by: Limits.recordsPerCascadeRead) {
            let names = cascade[start..<min(start + Limits.recordsPerCascadeRead, cascade.count)]
            let rows = try rows(names, batch, transaction)
            let tombstones = try RecordWriter.delete(
                rows, batch.merge, batch.indexes, batch.changes, in: transaction)
            if !sharing.isNeeded { continue }
            for (row, tombstone) in zip(rows, tombstones) {
                try SharedRecords.remove(tombstone, type: row.type, batch.sharedChanges, in: transaction)
            }
        }
    }

    /// The live records of these names, as far as a deletion looks at them: many were found before the write began. By their
    /// numbers is a shorter way to others than by their names.
    private func rows(
        _ names: ArraySlice<String>, _ batch: ZoneBatch, _ reader: StorageReader
    ) throws -> [RecordRow] {
        guard let graph else {
            return try reader.records(zone: batch.zone.key, named: Array(names)).filter { !$0.isDeleted }
        }
        var rows: [RecordRow] = []
        var others: [String] = []
        for name in names {
            if let row = graph.unchangedRow(name), !batch.looksAtFields(ofType: row.type) {
                rows.append(row)
            } else if let number = graph.found?.number(name),
                let row = try reader.record(number, zone: batch.zone.key), row.name == name
            {
                rows.append(row)
            } else {
                others.append(name)
            }
        }
        return try (rows + reader.records(zone: batch.zone.key, named: others)).filter { !$0.isDeleted }
    }

    private func delete(
        _ row: RecordRow, separates: Bool = false, _ batch: ZoneBatch, _ transaction: StorageTransaction
    ) throws -> RecordRow {
        let tombstone = try RecordWriter.delete(
            row, separates: separates, batch.merge, batch.indexes, batch.changes, in: transaction)
        if sharing.isNeeded {
            try SharedRecords.remove(tombstone, type: row.type, batch.sharedChanges, in: transaction)
        }
        return tombstone
    }
}
