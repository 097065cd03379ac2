import NephosStorage
import NephosWire

/// What is to be done for one item of a batch.
enum ItemDecision {
    // Boxed: decisions are passed around, and a planned save is many words.
    indirect case save(PlannedSave)
    case delete(RecordRow)
    /// Nothing to delete, and that is all right.
    case nothing
    case refuse(ServiceError, server: RecordRow?)

    var isRefusal: Bool {
        if case .refuse = self { return true }
        return false
    }
}

/// A record as a save will leave it; its sequence is given when it is written.
struct PlannedSave {
    var row: RecordRow
    /// The record as it is stored; nil where it is new.
    var stored: RecordRow?
    /// The fields that were sent, for the schema.
    var fields: RecordFields
    var oldEdges: Set<ReferenceEdge>
    var newEdges: Set<ReferenceEdge>
    /// Whether `fields` are all that the record will have.
    var isWhole: Bool

    /// What the indexes need not read again.
    var known: KnownFields { isWhole ? .all(fields) : .sent(fields) }

    /// The references whose target has to exist for this save: the new ones of the kinds that demand it.
    var demandedTargets: [ReferenceEdge] {
        if newEdges.isEmpty { return [] }
        return newEdges.subtracting(oldEdges).filter { ParentRules.demandsTarget($0.kind) }
    }
}

/// Decides what a batch does to one zone. Reads what it needs, writes nothing: the result is a `ModifyPlan`.
struct ZoneBatch {
    let zone: ZoneRow
    let merge: FieldMerge
    let isAtomic: Bool
    /// Whether what only Apple's Web Services refuse is refused.
    let isStrict: Bool
    let containerEnvironment: ContainerEnvironment
    let caller: Caller
    let indexes: IndexWriter
    /// Where what happens is noted for those who subscribed to it; nil where nobody did.
    let changes: RecordChanges?
    let reader: any StorageReader

    func plan(_ operations: [Result<ValidOperation, ServiceError>], schema: Schema) throws -> ModifyPlan {
        var decisions: [ItemDecision] = []
        decisions.reserveCapacity(operations.count)
        var draft = JustInTimeSchema(environment: containerEnvironment, schema: schema)
        let permissions = RecordPermissions(caller, schema)
        for operation in operations { decisions.append(try decide(operation, permissions, &draft)) }
        try refuseSavesWithoutTarget(&decisions)
        if isStrict { try refuseTooManySources(&decisions) }
        let deletion = try planDeletion(&decisions)
        if isAtomic { decisions = AtomicBatch.settle(decisions) }
        let deletesSomething = decisions.contains { if case .delete = $0 { true } else { false } }
        return try ModifyPlan(
            decisions: decisions, cascade: deletesSomething ? deletion.cascade : [],
            backgroundCascade: deletesSomething ? deletion.backgroundCascade : [], base: schema, draft: draft)
    }

    // MARK: - Item by item

    private func decide(
        _ operation: Result<ValidOperation, ServiceError>, _ permissions: RecordPermissions,
        _ draft: inout JustInTimeSchema
    ) throws -> ItemDecision {
        let valid: ValidOperation
        switch operation {
        case .success(let operation): valid = operation
        case .failure(let error): return .refuse(error, server: nil)
        }
        let found = try reader.record(zone: zone.key, named: valid.recordName)
        let stored = found.flatMap { $0.isDeleted ? nil : $0 }
        do throws(ServiceError) {
            try permissions.check(valid, stored: stored)
            switch SavePolicy.decide(valid, stored: stored) {
            case .insert: return .save(try save(valid, nil, &draft))
            case .merge(let stored), .replace(let stored): return .save(try save(valid, stored, &draft))
            case .delete(let stored): return .delete(stored)
            case .nothingToDelete: return .nothing
            case .refuse(let error, let server):
                return .refuse(error, server: server.flatMap { permissions.mayRead($0) ? $0 : nil })
            }
        } catch {
            return .refuse(error, server: nil)
        }
    }

    private func save(
        _ operation: ValidOperation, _ stored: RecordRow?, _ draft: inout JustInTimeSchema
    ) throws(ServiceError) -> PlannedSave {
        let type = stored?.type ?? operation.recordType ?? ""
        let (fields, _) = try draft.admit(operation.fields, recordType: type)
        let row: RecordRow
        if let stored {
            row =
                operation.operationType.dropsUnmentionedFields
                ? merge.replaced(operation, stored, fields: fields)
                : merge.merged(operation, into: stored, fields: fields)
        } else {
            row = merge.inserted(operation, type: type, fields: fields)
        }
        try FieldMerge.checkSize(row)
        return PlannedSave(
            row: row, stored: stored, fields: fields, oldEdges: stored.map { ReferenceGraph.edges(of: $0) } ?? [],
            newEdges: ReferenceGraph.edges(of: row),
            isWhole: stored == nil || operation.operationType.dropsUnmentionedFields)
    }

    // MARK: - References

    /// Refuses saves whose owner, parent or validated record is neither stored nor saved by the batch. A refusal can take
    /// away another save's target, so this goes on until nothing changes.
    private func refuseSavesWithoutTarget(_ decisions: inout [ItemDecision]) throws {
        let demands = decisions.contains {
            if case .save(let save) = $0 { !save.demandedTargets.isEmpty } else { false }
        }
        if !demands { return }
        var alive: [String: Bool] = [:]
        for decision in decisions {
            switch decision {
            case .save(let save): alive[save.row.name] = true
            case .delete(let row): alive[row.name] = false
            case .nothing, .refuse: break
            }
        }
        var isSettled = false
        while !isSettled {
            isSettled = true
            for (index, decision) in decisions.enumerated() {
                guard case .save(let save) = decision,
                    let missing = try firstMissing(save.demandedTargets, &alive)
                else { continue }
                decisions[index] = .refuse(ParentRules.missingTarget(missing, of: save.row.name), server: nil)
                alive[save.row.name] = nil
                isSettled = false
            }
        }
    }

    private func firstMissing(
        _ edges: [ReferenceEdge], _ alive: inout [String: Bool]
    ) throws -> ReferenceEdge? {
        for edge in edges.sorted(by: { $0.target < $1.target }) {
            if alive[edge.target] == nil {
                let stored = try reader.record(zone: zone.key, named: edge.target)
                alive[edge.target] = stored.map { !$0.isDeleted } ?? false
            }
            if alive[edge.target] == false { return edge }
        }
        return nil
    }

    /// Refuses saves that would give an owner more records than one deletion may take along.
    private func refuseTooManySources(_ decisions: inout [ItemDecision]) throws {
        var counts: [String: Int] = [:]
        for (index, decision) in decisions.enumerated() {
            guard case .save(let save) = decision else { continue }
            for edge in save.newEdges.subtracting(save.oldEdges) where edge.kind == .deleteSelf {
                let limit = Limits.strictDeleteSelfSources
                let count =
                    try counts[edge.target]
                    ?? reader.references(
                        zone: zone.key, to: edge.target, kinds: [.deleteSelf], after: nil, limit: limit
                    ).count
                counts[edge.target] = count + 1
                guard count >= limit else { continue }
                decisions[index] = .refuse(
                    .limitExceeded("more than \(limit) records would be owned by '\(edge.target)'"), server: nil)
            }
        }
    }

    // MARK: - Deletions

    /// Finds what the deletions take along, and refuses those whose record is still held by one that stays. A refusal can
    /// keep another record's holder alive, so this goes on until nothing changes.
    private func planDeletion(
        _ decisions: inout [ItemDecision]
    ) throws -> (cascade: [String], backgroundCascade: [String]) {
        guard decisions.contains(where: { if case .delete = $0 { true } else { false } }) else { return ([], []) }
        var graph = BatchGraph(zone: zone.key, reader: reader)
        for case .save(let save) in decisions { graph.save(save.row.name, edges: save.newEdges) }
        while true {
            let deleted = decisions.compactMap { if case .delete(let row) = $0 { row.name } else { nil } }
            if deleted.isEmpty { return ([], []) }
            let cascade = try CascadeDelete.plan(deleting: deleted) {
                try graph.sources(of: $0, kinds: [.deleteSelf])
            }
            let dead = Set(deleted).union(cascade)
            guard try !refuseHeld(&decisions, dead, graph) else { continue }
            if ZoneRules.cascadesImmediately(zone.name) { return (cascade, []) }
            return ([], cascade.isEmpty ? [] : deleted)
        }
    }

    /// - Returns: whether it refused a deletion.
    private func refuseHeld(
        _ decisions: inout [ItemDecision], _ dead: Set<String>, _ graph: BatchGraph
    ) throws -> Bool {
        var refused = false
        for (index, decision) in decisions.enumerated() {
            guard case .delete(let row) = decision else { continue }
            let holders = try graph.sources(of: row.name, kinds: ParentRules.holding)
            guard let holder = holders.subtracting(dead).min() else { continue }
            decisions[index] = .refuse(ParentRules.held(row.name, by: holder), server: nil)
            refused = true
        }
        return refused
    }
}
