import NephosStorage

/// The cascade of a batch's deletions.
struct PlannedDeletion {
    var cascade: [String] = []
    /// Whether the cascade runs in the transaction, not in the background.
    var isImmediate = true
    /// The records deleted by name whose cascade runs in the background.
    var owners: [String] = []
    /// The reference graph, if the cascade is large.
    var graph: BatchGraph?
}

/// Plans a batch's deletions and the refusals that references demand.
extension ZoneBatch {
    /// Finds the cascade, and refuses each deletion whose record or cascade includes one held by a record that stays. A
    /// refusal can keep another record's holder alive, so this repeats until nothing changes.
    func planDeletion(
        _ decisions: inout [ItemDecision], _ permissions: RecordPermissions
    ) throws -> PlannedDeletion {
        guard decisions.contains(where: { if case .delete = $0 { true } else { false } }) else {
            return PlannedDeletion()
        }
        var graph = BatchGraph(zone: zone.key, reader: reader)
        if let found = found[zone.key] { try graph.use(found, in: zone) }
        let isImmediate = ZoneRules.cascadesImmediately(zone.name)
        let isBounded = isImmediate && graph.found == nil && !found.isFinal
        for case .save(let save) in decisions { graph.save(save.row.name, edges: save.newEdges) }
        var spared: Set<String> = []
        while true {
            let deleted = decisions.compactMap { if case .delete(let row) = $0 { row.name } else { nil } }
            if deleted.isEmpty { return PlannedDeletion() }
            if shared == nil, let found = graph.unchanged(deleting: deleted), !found.isHeld {
                if try refuseHeld(&decisions, found.dead, graph, permissions) { continue }
                return PlannedDeletion(cascade: found.inStoredOrder, owners: deleted, graph: graph)
            }
            var count = 0
            let cascade = try CascadeDelete.plan(deleting: deleted) { targets in
                count += targets.count
                if isBounded, count > Limits.recordsPlannedInWrite {
                    throw LargeCascade(zone: zone.key, names: deleted)
                }
                let sources = try graph.sources(of: targets, kinds: [.deleteSelf])
                return shared == nil ? sources : try sources.map { try $0.filter { try mayCascade(to: $0, spared) } }
            }
            let dead = Set(deleted).union(cascade.names)
            guard try !refuseHeld(&decisions, dead, graph, permissions),
                try !refuseHeldCascade(&decisions, cascade, dead, graph, &spared)
            else { continue }
            return PlannedDeletion(
                cascade: graph.found?.inStoredOrder(cascade.names) ?? cascade.names, isImmediate: isImmediate,
                owners: cascade.names.isEmpty ? [] : deleted, graph: graph.found == nil ? nil : graph)
        }
    }

    /// A participant's deletion cascades to no root and no share, which only their owner may delete, nor to a record
    /// held by one that the participant must not know of.
    private func mayCascade(to name: String, _ spared: Set<String>) throws -> Bool {
        if spared.contains(name) { return false }
        guard let row = try reader.record(zone: zone.key, named: name) else { return true }
        return row.share == nil && row.type != SystemRecordType.share
    }

    /// - Returns: whether it refused a deletion.
    private func refuseHeld(
        _ decisions: inout [ItemDecision], _ dead: Set<String>, _ graph: BatchGraph, _ permissions: RecordPermissions
    ) throws -> Bool {
        var refused = false
        for (index, decision) in decisions.enumerated() {
            guard case .delete(let row) = decision else { continue }
            guard let holder = try holder(of: row, dead, graph) else { continue }
            let stored = try reader.record(zone: zone.key, named: holder)
            let isNamed = stored.map { permissions.mayRead($0) } ?? true
            decisions[index] = .refuse(ParentRules.held(row.name, by: isNamed ? holder : nil), server: nil)
            refused = true
        }
        return refused
    }

    /// A record that keeps another from being deleted. In the public database any account may create unlimited
    /// references to it, so only some are examined there.
    private func holder(of row: RecordRow, _ dead: Set<String>, _ graph: BatchGraph) throws -> String? {
        try graph.firstSource(
            of: row.name, kinds: BatchGraph.holding, reading: caller.scope == .public ? Limits.holdersRead : .max
        ) { source in
            try !dead.contains(source) && isVisible(source) && holds(source, row)
        }
    }

    /// In the public database, where any account may refer to any record, only records of the same creator hold a
    /// record. Nothing holds a share: its owner's deletion ends it.
    private func holds(_ holder: String, _ row: RecordRow) throws -> Bool {
        if row.type == SystemRecordType.share { return false }
        if caller.scope != .public { return true }
        let creator = try reader.record(zone: zone.key, named: holder).flatMap { $0.isDeleted ? nil : $0.createdBy }
        return (creator ?? merge.account) == row.createdBy
    }

    // MARK: - What goes along

    /// Refuses the deletions that cascade to a record which is the parent of, or is validated by, a record that stays.
    /// Otherwise a child would remain whose parent's name another record may take, in another share. A participant's
    /// deletion spares such a record if the participant must not know of it, because a refusal would reveal it.
    ///
    /// Does not apply to the public database, where any account could keep others from deleting their own records.
    /// - Returns: whether it refused or spared a record.
    private func refuseHeldCascade(
        _ decisions: inout [ItemDecision], _ cascade: CascadeDelete, _ dead: Set<String>, _ graph: BatchGraph,
        _ spared: inout Set<String>
    ) throws -> Bool {
        if caller.scope == .public { return false }
        var refused: [String: ServiceError] = [:]
        var hasSpared = false
        var rest = cascade.names[...]
        while !rest.isEmpty {
            let targets = Array(rest.prefix(Limits.referencesPerRead))
            rest = rest.dropFirst(targets.count)
            for (target, sources) in zip(targets, try graph.sources(of: targets, kinds: BatchGraph.holding)) {
                let holders = sources.subtracting(dead)
                if holders.isEmpty { continue }
                if try !isVisible(target) {
                    hasSpared = spared.insert(target).inserted || hasSpared
                } else if let holder = try holders.sorted().first(where: isVisible),
                    let origin = cascade.origin(of: target)
                {
                    refused[origin] = refused[origin] ?? ParentRules.held(origin, by: holder, through: target)
                }
            }
        }
        if refused.isEmpty { return hasSpared }
        for (index, decision) in decisions.enumerated() {
            guard case .delete(let row) = decision, let error = refused[row.name] else { continue }
            decisions[index] = .refuse(error, server: nil)
        }
        return true
    }
}
