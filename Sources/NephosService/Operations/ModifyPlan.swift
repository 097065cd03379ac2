import NephosStorage
import NephosWire

/// All decisions for one zone of a batch. Records are written only by `apply`.
struct ModifyPlan {
    let decisions: [ItemDecision]
    /// The names of the records to which the deletions cascade in the transaction.
    let cascade: [String]
    /// The names of the deleted records whose cascade runs in the background.
    let backgroundCascade: [String]
    /// The reference graph of a large cascade; nil for other cascades.
    private let graph: BatchGraph?
    /// The changes to the zone's shares.
    let sharing: SharePlan
    /// The record types and fields that the remaining saves add to the schema.
    let additions: SchemaAdditions
    /// The schema with these additions.
    let schema: Schema
    /// Whether the batch uses record types or fields that the schema it was planned with lacks.
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
        needsSchemaRead = draft.hasGrown || draft.hasLacked
        var additions = SchemaAdditions(maker: draft.maker)
        var growing = JustInTimeSchema(schema: base, maker: draft.maker, growth: draft.growth)
        if draft.hasGrown {
            // Only the remaining saves extend the schema, and they are known only now.
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

    /// Writes the plan.
    /// - Returns: the outcome of each item.
    func apply(_ batch: ZoneBatch, in transaction: StorageTransaction) throws -> [RecordOutcome] {
        try additions.apply(in: transaction)
        let outcomes = try decisions.map { try apply($0, batch, transaction) }
        try deleteCascade(batch, in: transaction)
        try sharing.apply(batch, savedTypes: savedTypes, in: transaction)
        try noteChange(batch, in: transaction)
        return outcomes
    }

    /// The record types of the saved records by name.
    private var savedTypes: [String: String] {
        var types: [String: String] = [:]
        for case .save(let save) in decisions { types[save.row.name] = save.row.type }
        return types
    }

    /// Moves the zone in the feed of its database, where a zone's position is the position of its newest record.
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
            let tombstone = try delete(row, batch, transaction)
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
    /// Deletes the records of the cascade in batches.
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

    /// The live records with these names, with as much of each record as the deletion needs: many were found before the
    /// write began. Of the remaining records, those with a known number are read by number, which is faster than by
    /// name.
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
        _ row: RecordRow, _ batch: ZoneBatch, _ transaction: StorageTransaction
    ) throws -> RecordRow {
        let tombstone = try RecordWriter.delete(
            row, batch.merge, batch.indexes, batch.changes, in: transaction)
        if sharing.isNeeded {
            try SharedRecords.remove(tombstone, type: row.type, batch.sharedChanges, in: transaction)
        }
        return tombstone
    }
}
