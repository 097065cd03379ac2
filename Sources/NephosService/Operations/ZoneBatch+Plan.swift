import NephosCrypto
import NephosStorage
import NephosWire

extension ZoneBatch {
    /// The rules of a whole batch, in the order in which they are applied.
    enum Rule: CaseIterable {
        /// A database's files fit into its quota.
        case quota
        /// Owners, parents and validated records are stored, or saved by the batch.
        case targets
        /// The number of records that one record owns is limited.
        case sources
        /// No record is its own ancestor.
        case circles
        /// A record that a remaining record holds is not deleted; the deletions cascade.
        case deletion
        /// The shares of the batch's record hierarchies are valid.
        case hierarchy
        /// Encrypted values have the keys that their readers have.
        case keys
    }

    /// The decisions for a batch so far.
    private struct Decided {
        var decisions: [ItemDecision]
        var draft: JustInTimeSchema
        let permissions: RecordPermissions
        var sharing: SharePlanner?
        var deletion: PlannedDeletion?
        /// The number of refusals at the time when the deletion was planned.
        var refusalsInDeletion = 0
        /// The groups whose owner must wrap keys after the commit.
        var keyAttention: Set<String> = []

        var refusals: Int { decisions.count(where: \.isRefusal) }
    }

    /// Decides the batch. This reads the store, but writes nothing.
    func plan(_ operations: [Result<ValidOperation, ServiceError>], schema: Schema) throws -> ModifyPlan {
        var decided = try decideItems(operations, schema)
        decided.sharing = try SharePlanner(self, operations)
        try decided.sharing?.decideShares(&decided.decisions, operations)
        try settle(&decided)
        var decisions = decided.decisions
        if isAtomic { decisions = AtomicBatch.settle(decisions) }
        var sharePlan = try decided.sharing?.finish(&decisions) ?? .none
        sharePlan.keyAttention = decided.keyAttention
        sharePlan.marksUnsigned = decided.draft.schema.hasSealedFields
        let deletesSomething = decisions.contains { if case .delete = $0 { true } else { false } }
        let deletion = (deletesSomething ? decided.deletion : nil) ?? PlannedDeletion()
        return try ModifyPlan(
            decisions: decisions, cascade: deletion.isImmediate ? deletion.cascade : [],
            backgroundCascade: deletion.isImmediate ? [] : deletion.owners,
            graph: decided.deletion?.graph, sharing: sharePlan, base: schema, draft: decided.draft)
    }

    /// Applies the rules until no rule refuses. A refusal can remove the target of another save, make the holder of a
    /// record remain, or change a share. So after a refusal the rules restart from the first one that depends on other
    /// items.
    private func settle(_ decided: inout Decided) throws {
        let rules = Rule.allCases
        var position = 0
        while position < rules.count {
            let refusals = decided.refusals
            let isSettled = try apply(rules[position], &decided)
            if isSettled, decided.refusals == refusals {
                position += 1
                continue
            }
            // The planned cascade may include a deletion that a later rule has refused.
            if rules[position] == .hierarchy || rules[position] == .keys { decided.deletion = nil }
            position = 1
        }
    }

    /// - Returns: false if the earlier rules must be applied again although nothing was refused.
    private func apply(_ rule: Rule, _ decided: inout Decided) throws -> Bool {
        switch rule {
        case .quota: try refuseUploadsWithoutRoom(&decided.decisions)
        case .targets: try refuseSavesWithoutTarget(&decided.decisions, gone: decided.deletion?.cascade ?? [])
        case .sources: try refuseTooManySources(&decided.decisions)
        case .circles: if decided.sharing == nil { try refuseCircles(&decided.decisions) }
        case .deletion: return try planDeletion(&decided)
        case .hierarchy:
            decided.sharing?.couple(&decided.decisions)
            try decided.sharing?.decideHierarchy(&decided.decisions, cascade: decided.deletion?.cascade ?? [])
        case .keys:
            try refuseKeys(&decided.decisions, decided.sharing, decided.draft.schema, &decided.keyAttention)
        }
        return true
    }

    /// Plans the deletion, unless nothing was refused since it was last planned.
    /// - Returns: whether the earlier rules need not examine the cascade.
    private func planDeletion(_ decided: inout Decided) throws -> Bool {
        if decided.deletion != nil, decided.refusals == decided.refusalsInDeletion { return true }
        let planned = try planDeletion(&decided.decisions, decided.permissions)
        decided.deletion = planned
        decided.refusalsInDeletion = decided.refusals
        return planned.cascade.isEmpty
    }

    private func decideItems(
        _ operations: [Result<ValidOperation, ServiceError>], _ schema: Schema
    ) throws -> Decided {
        let names = operations.compactMap { try? $0.get().recordName }
        // The keys are bytes, because different names may be equal strings.
        let known = try Dictionary(
            reader.records(zone: zone.key, named: names).map { (Array($0.name.utf8), $0) }, uniquingKeysWith: { $1 })
        try checkSize(operations, known)
        var decided = Decided(
            decisions: [],
            draft: JustInTimeSchema(schema: schema, maker: caller.account?.id, growth: caller.schemaGrowth),
            permissions: RecordPermissions(caller, schema))
        decided.decisions.reserveCapacity(operations.count)
        for operation in operations {
            decided.decisions.append(try decide(operation, known, decided.permissions, &decided.draft))
        }
        return decided
    }

    /// Limits the total size of the stored records that the batch's saves merge with or replace.
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

    /// Refuses saves of files that exceed the database's quota, even if the database already has the files' content.
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

    /// Refuses saves of values that are sealed with other keys than their readers have.
    /// - Parameter attention: receives the groups whose owner must wrap keys after the commit.
    private func refuseKeys(
        _ decisions: inout [ItemDecision], _ sharing: SharePlanner?, _ schema: Schema, _ attention: inout Set<String>
    ) throws {
        var moves: [String: KeyMove] = [:]
        var (newShares, toSign): (Set<String>, Set<String>) = ([], [])
        if let sharing, schema.hasSealedFields {
            moves = try sharing.recordsThatMove()
            (newShares, toSign) = (sharing.newShares, sharing.sharesToSign)
        }
        let hasUse = decisions.contains { if case .save(let save) = $0 { save.keyUse != nil } else { false } }
        guard hasUse || !moves.isEmpty || !newShares.isEmpty || !toSign.isEmpty else { return }
        var plan = KeyPlan(
            zone: zone.key, reader, knowsKeys: knowsKeys,
            ownersAccountKey: { [caller, deviceLists] in
                guard caller.scope == .private, let account = caller.account else { return nil }
                return try deviceLists.list(of: account).accountKey
            }
        ) { try sharing?.keyGroup(of: $0) ?? "" }
        try plan.refuse(&decisions, moves: moves, newShares: newShares, toSign: toSign)
        attention = plan.attention.union(schema.hasSealedFields ? try sharing?.movedShares() ?? [] : [])
    }
}
