import NephosStorage
import NephosWire

extension ZoneBatch {
    /// Decides the batch: reads the store, but writes nothing.
    func plan(_ operations: [Result<ValidOperation, ServiceError>], schema: Schema) throws -> ModifyPlan {
        var decisions: [ItemDecision] = []
        decisions.reserveCapacity(operations.count)
        var draft = JustInTimeSchema(environment: containerEnvironment, schema: schema, maker: caller.account?.id)
        let permissions = RecordPermissions(caller, schema)
        let names = operations.compactMap { try? $0.get().recordName }
        // Keyed by bytes: different names may be equal strings.
        let known = try Dictionary(
            reader.records(zone: zone.key, named: names).map { (Array($0.name.utf8), $0) }, uniquingKeysWith: { $1 })
        try checkSize(operations, known)
        for operation in operations { decisions.append(try decide(operation, known, permissions, &draft)) }
        try refuseUploadsWithoutRoom(&decisions)
        var sharing = try SharePlanner(self, operations)
        try sharing?.decideShares(&decisions, operations)
        var deletion = PlannedDeletion()
        var keyAttention: Set<String> = []
        var refusals = decisions.count(where: \.isRefusal)
        while true {
            deletion = try settleReferences(&decisions, permissions, refusesCircles: sharing == nil)
            sharing?.couple(&decisions)
            try sharing?.decideHierarchy(&decisions, cascade: deletion.cascade)
            let now = decisions.count(where: \.isRefusal)
            // A refusal may remove a dependency of another save.
            if now == refusals, try !refuseKeys(&decisions, sharing, draft.schema, &keyAttention) { break }
            refusals = now
        }
        if isAtomic { decisions = AtomicBatch.settle(decisions) }
        var sharePlan = try sharing?.finish(&decisions) ?? .none
        sharePlan.keyAttention = keyAttention
        let deletesSomething = decisions.contains { if case .delete = $0 { true } else { false } }
        return try ModifyPlan(
            decisions: decisions, cascade: deletesSomething && deletion.isImmediate ? deletion.cascade : [],
            backgroundCascade: deletesSomething && !deletion.isImmediate ? deletion.owners : [],
            graph: deletion.graph, sharing: sharePlan, base: schema, draft: draft)
    }

    /// Bounds the size of the stored records that the batch's saves merge with or replace.
    private func checkSize(
        _ operations: [Result<ValidOperation, ServiceError>], _ known: [[UInt8]: RecordRow]
    ) throws(ServiceError) {
        let size = operations.reduce(0) { size, operation in
            guard case .success(let valid) = operation, !valid.operationType.isDeletion else { return size }
            return size + (known[Array(valid.recordName.utf8)]?.fields.count ?? 0)
        }
        if size > Limits.lookupSize {
            throw .limitExceeded(
                "the records that the request saves have \(size) bytes as they are; at most \(Limits.lookupSize) are allowed;"
                    + " send several requests")
        }
    }

    // MARK: - Item by item

    private func decide(
        _ operation: Result<ValidOperation, ServiceError>, _ known: [[UInt8]: RecordRow],
        _ permissions: RecordPermissions,
        _ draft: inout JustInTimeSchema
    ) throws -> ItemDecision {
        var valid: ValidOperation
        switch operation {
        case .success(let operation): valid = operation
        case .failure(let error): return .refuse(error, server: nil)
        }
        let found = known[Array(valid.recordName.utf8)]
        if found?.isDamaged == true { return .refuse(.damagedRecord, server: nil) }
        var stored = found.flatMap { $0.isDeleted ? nil : $0 }
        let isNameTaken = try stored != nil && !isVisible(valid.recordName)
        if isNameTaken { stored = nil }
        if let root = stored, shared != nil, root.share != nil {
            if let error = try refusalToMove(root, valid) { return .refuse(error, server: nil) }
            valid.parent = root.parent.map { .set(ReferenceValue(recordName: $0)) } ?? .keep
        }
        let standing = stored == nil ? nil : try shared?.standing(on: valid.recordName, reader)
        do {
            try permissions.check(valid, stored: stored)
            // A caller that may not read the record learns only that the name is taken.
            if valid.operationType == .create, let stored, !permissions.mayRead(stored) {
                return .refuse(.recordExists, server: nil)
            }
            switch SavePolicy.decide(valid.asShareIfShare(stored), stored: stored) {
            case .insert:
                var new = try save(valid, nil, &draft)
                new.isNameTaken = isNameTaken
                return .save(new)
            case .merge(let stored): return .save(try save(valid, stored, &draft))
            case .replace(let stored): return .save(try save(valid, stored, &draft, replaces: true))
            case .delete(let stored): return try delete(stored, standing)
            case .nothingToDelete: return .nothing
            case .refuse(let error, let server):
                return .refuse(error, server: server.flatMap { permissions.mayRead($0) ? $0 : nil })
            }
        } catch let error as ServiceError {
            return .refuse(error, server: nil)
        }
    }

    /// A participant must not learn the parent of a shared root: the parent stays, and naming any gets the same error.
    private func refusalToMove(_ root: RecordRow, _ operation: ValidOperation) throws -> ServiceError? {
        guard case .set(let parent) = operation.parent else { return nil }
        return try isVisible(parent.recordName)
            ? .shareRefusal("only the owner may move records out of what is shared")
            : ParentRules.missingTarget(ReferenceEdge(target: parent.recordName, kind: .parent), of: root.name)
    }

    /// - Parameter standing: the caller's standing towards the record, if the zone is another account's.
    private func delete(
        _ stored: RecordRow, _ standing: ShareAccess.Standing?
    ) throws(ServiceError) -> ItemDecision {
        guard let standing else { return .delete(stored) }
        let isShare = stored.type == SystemRecordType.share
        let subject: ShareAccess.Subject = isShare ? .share : stored.share != nil ? .root : .record
        switch ShareAccess.decide(.delete, on: subject, by: standing) {
        case .allowed: return isShare ? .leave(stored) : .delete(stored)
        case .invisible: throw .recordNotFound
        case .refused(let reason): throw .shareRefusal(reason)
        }
    }

    private func save(
        _ operation: ValidOperation, _ stored: RecordRow?, _ draft: inout JustInTimeSchema, replaces: Bool = false
    ) throws -> PlannedSave {
        let type = operation.recordType ?? stored?.type ?? ""
        if type != SystemRecordType.share, let name = RecordValidation.shareField(in: operation.fields) {
            throw ServiceError.invalid("only shares have the field '\(name)': record '\(operation.recordName)'")
        }
        let sent = try AssetAdmission(access: caller.assets, zone: zone.key, scope: caller.scope, reader: reader)
            .admit(operation.fields, of: operation.recordName, stored: stored)
        let keyUse = try EncryptionRules(zone: zone.key, scope: caller.scope, reader: reader).admit(operation)
        let fields = try draft.admit(sent.fields, ofRecordOf: type)
        let row: RecordRow
        if let stored {
            row =
                replaces
                ? try merge.replaced(operation, stored, type: type, fields: fields)
                : merge.merged(operation, into: stored, fields: fields)
        } else {
            row = merge.inserted(operation, type: type, fields: fields)
        }
        try FieldMerge.checkSize(row)
        let keepsSome = stored != nil && replaces && !operation.keep.isEmpty
        return PlannedSave(
            row: row, stored: stored, fields: fields, oldEdges: stored.map { ReferenceGraph.edges(of: $0) } ?? [],
            newEdges: ReferenceGraph.edges(of: row),
            isWhole: (stored == nil || replaces) && !keepsSome, keepsSome: keepsSome, uploads: sent.uploads,
            keyUse: keyUse)
    }

    /// Refuses saves of files that exceed the database's quota, even if it already has their content.
    private func refuseUploadsWithoutRoom(_ decisions: inout [ItemDecision]) throws {
        var used: Int64?
        for (index, decision) in decisions.enumerated() {
            guard case .save(let save) = decision, !save.uploads.isEmpty else { continue }
            let bytes = try save.uploads.reduce(used ?? reader.assetBytes(owner: zone.key.owner)) { $0 + $1.size }
            if bytes > caller.assets.databaseLimit {
                decisions[index] = .refuse(.assetQuotaExceeded(limit: caller.assets.databaseLimit), server: nil)
            } else {
                used = bytes
            }
        }
    }

    /// Refuses saves whose values are sealed with keys other than their readers'.
    /// - Parameter attention: the groups whose owner must wrap keys later.
    /// - Returns: whether it refused a save.
    private func refuseKeys(
        _ decisions: inout [ItemDecision], _ sharing: SharePlanner?, _ schema: Schema, _ attention: inout Set<String>
    ) throws -> Bool {
        var moves: [String: KeyMove] = [:]
        var newShares: Set<String> = []
        if let sharing, schema.hasSealedFields {
            moves = try sharing.recordsThatMove()
            newShares = sharing.newShares
        }
        let hasUse = decisions.contains { if case .save(let save) = $0 { save.keyUse != nil } else { false } }
        guard hasUse || !moves.isEmpty || !newShares.isEmpty else { return false }
        var plan = KeyPlan(zone: zone.key, reader, knowsKeys: knowsKeys) { try sharing?.keyGroup(of: $0) ?? "" }
        let hasRefused = try plan.refuse(&decisions, moves: moves, newShares: newShares)
        attention = plan.attention.union(schema.hasSealedFields ? try sharing?.movedShares() ?? [] : [])
        return hasRefused
    }

    // MARK: - References

    /// Refuses changes that would break references, and finds the cascade of the deletions. A refusal can remove
    /// another save's target or keep a record's holder alive, so this repeats until nothing changes.
    private func settleReferences(
        _ decisions: inout [ItemDecision], _ permissions: RecordPermissions, refusesCircles: Bool
    ) throws -> PlannedDeletion {
        var deletion: PlannedDeletion?
        while true {
            let refusals = decisions.count(where: \.isRefusal)
            try refuseSavesWithoutTarget(&decisions, gone: deletion?.cascade ?? [])
            try refuseTooManySources(&decisions)
            if refusesCircles { try refuseCircles(&decisions) }
            let isSettled = decisions.count(where: \.isRefusal) == refusals
            if let deletion, isSettled { return deletion }
            let planned = try planDeletion(&decisions, permissions)
            if planned.cascade.isEmpty, isSettled { return planned }
            deletion = planned
        }
    }

    /// Refuses saves whose owner, parent or validated record is neither stored nor saved by the batch. A refusal can
    /// remove another save's target, so this repeats until nothing changes.
    /// - Parameter gone: the cascade of the deletions. It includes records owned by its members; no record that stays
    ///   may refer to one.
    private func refuseSavesWithoutTarget(_ decisions: inout [ItemDecision], gone names: [String]) throws {
        let demands = decisions.contains {
            if case .save(let save) = $0 { !save.demandedTargets.isEmpty } else { false }
        }
        if !demands { return }
        let gone = Set(names)
        var alive: [String: Bool] = [:]
        for decision in decisions {
            switch decision {
            case .save(let save): alive[save.row.name] = true
            case .delete(let row): alive[row.name] = false
            case .leave, .nothing, .refuse: break
            }
        }
        var isSettled = false
        while !isSettled {
            isSettled = true
            for (index, decision) in decisions.enumerated() {
                guard case .save(let save) = decision else { continue }
                let targets = save.demandedTargets
                var missing: ReferenceEdge?
                if !gone.contains(save.row.name) {
                    missing = targets.first { gone.contains($0.target) && $0.kind != .deleteSelf }
                }
                if missing == nil { missing = try firstMissing(targets, &alive) }
                guard let missing else { continue }
                decisions[index] = .refuse(ParentRules.missingTarget(missing, of: save.row.name), server: nil)
                alive[save.row.name] = nil
                isSettled = false
            }
        }
    }

    /// Whether shares let the caller see the record.
    func isVisible(_ name: String) throws -> Bool { try shared?.mayRead(name, reader) ?? true }

    private func firstMissing(
        _ edges: [ReferenceEdge], _ alive: inout [String: Bool]
    ) throws -> ReferenceEdge? {
        for edge in edges.sorted(by: { ($0.target, $0.kind.rawValue) < ($1.target, $1.kind.rawValue) }) {
            // No record has a name with other characters, though one may be canonically equivalent.
            if !edge.target.hasASCIIOnly { return edge }
            if alive[edge.target] == nil {
                let stored = try reader.record(zone: zone.key, named: edge.target)
                // A damaged record exists, too.
                alive[edge.target] =
                    try stored.map { try ($0.isDamaged || !$0.isDeleted) && isVisible($0.name) } ?? false
            }
            if alive[edge.target] == false { return edge }
        }
        return nil
    }

    /// Refuses saves that would exceed the limit of records that one record owns.
    private func refuseTooManySources(_ decisions: inout [ItemDecision]) throws {
        var counts: [OwnedRecords: Int] = [:]
        for (index, decision) in decisions.enumerated() {
            guard case .save(let save) = decision, !save.newEdges.isEmpty else { continue }
            for edge in save.newEdges.subtracting(save.oldEdges) where edge.kind == .deleteSelf {
                let owned = OwnedRecords(owner: edge.target, creator: save.row.createdBy)
                let count = try counts[owned] ?? count(owned, decisions)
                counts[owned] = count + 1
                guard count >= Limits.deleteSelfSources else { continue }
                decisions[index] = .refuse(ParentRules.tooManySources(of: edge.target), server: nil)
            }
        }
    }

    /// The owned records that count towards one limit: those of one creator. In the public database and in a share any
    /// account may refer to a record; no account can use up another's limit, or learn of its references.
    private struct OwnedRecords: Hashable {
        var owner: String
        var creator: Int64
    }

    /// The number of stored records that one owns, minus those that the batch removes.
    private func count(_ owned: OwnedRecords, _ decisions: [ItemDecision]) throws -> Int {
        let edge = ReferenceEdge(target: owned.owner, kind: .deleteSelf)
        func sources(_ limit: Int) throws -> [ReferenceRow] {
            try reader.references(zone: zone.key, to: owned.owner, kinds: [.deleteSelf], after: nil, limit: limit)
        }
        let count = try sources(Limits.deleteSelfSources).count
        if count < Limits.deleteSelfSources { return count }
        var leaving: Set<String> = []
        for decision in decisions {
            switch decision {
            case .delete(let row): leaving.insert(row.name)
            case .save(let save) where !save.newEdges.contains(edge): leaving.insert(save.row.name)
            case .save, .leave, .nothing, .refuse: break
            }
        }
        return try sources(Limits.ownedRead).count { row in
            if leaving.contains(row.source) { return false }
            var isOwn = false
            try reader.visitRecord(zone: zone.key, named: row.source) { isOwn = $0.createdBy == owned.creator }
            return isOwn
        }
    }

    /// Refuses saves that make a record its own ancestor.
    private func refuseCircles(_ decisions: inout [ItemDecision]) throws {
        var parents: [String: String?] = [:]
        var changes: [Int] = []
        for (index, decision) in decisions.enumerated() {
            guard case .save(let save) = decision, save.row.parent != nil || save.stored?.parent != nil else {
                continue
            }
            parents[save.row.name] = .some(save.row.parent)
            if save.row.parent != save.stored?.parent { changes.append(index) }
        }
        for index in changes {
            guard case .save(let save) = decisions[index] else { continue }
            if let error = try ParentRules.circle(save, parents, reader) {
                decisions[index] = .refuse(error, server: nil)
            }
        }
    }
}

extension ValidOperation {
    /// The operation, marked as a share's if it is one: shares are always saved if they are unchanged (`CKShare`,
    /// Apple's documentation).
    fileprivate func asShareIfShare(_ stored: RecordRow?) -> ValidOperation {
        guard isOfShare || stored?.type == SystemRecordType.share else { return self }
        var operation = self
        switch operationType {
        case .forceUpdate: operation.operationType = stored == nil ? .create : .update
        case .forceReplace: operation.operationType = stored == nil ? .create : .replace
        case .create, .update, .replace, .delete, .forceDelete: break
        }
        return operation
    }
}
