import NephosStorage

/// The rule that a record is not deleted while a remaining record is its child or validates it.
extension ZoneBatch {
    /// Refuses the deletions of records that remaining records hold.
    /// - Returns: whether a deletion was refused.
    func refuseHeld(
        _ decisions: inout [ItemDecision], _ dead: Set<String>, _ graph: BatchGraph, _ permissions: RecordPermissions
    ) throws -> Bool {
        var refused = false
        for (index, decision) in decisions.enumerated() {
            guard case .delete(let row) = decision else { continue }
            guard let holder = try holder(of: row, dead, graph) else { continue }
            let stored = try reader.record(zone: zone.key, named: holder)
            let isNamed = stored.map { permissions.mayRead($0) } ?? true
            decisions[index] = .refuse(ReferenceRules.held(row.name, by: isNamed ? holder : nil), server: nil)
            refused = true
        }
        return refused
    }

    /// A record that prevents the deletion of `row`; nil if there is none. In the public database any account may
    /// create unlimited references to `row`, so only some of them are examined there.
    private func holder(of row: RecordRow, _ dead: Set<String>, _ graph: BatchGraph) throws -> String? {
        try graph.firstSource(
            of: row.name, kinds: BatchGraph.holding, reading: caller.scope == .public ? Limits.holdersRead : .max
        ) { source in
            try !dead.contains(source) && isVisible(source) && holds(source, row)
        }
    }

    /// Whether a record that refers to `row` prevents its deletion. In the public database any account may refer to any
    /// record, so there only records of the same creator do. No record prevents the deletion of a share, because the
    /// owner's deletion ends the share.
    private func holds(_ holder: String, _ row: RecordRow) throws -> Bool {
        if row.type == SystemRecordType.share { return false }
        if caller.scope != .public { return true }
        let creator = try reader.record(zone: zone.key, named: holder).flatMap { $0.isDeleted ? nil : $0.createdBy }
        return (creator ?? merge.account) == row.createdBy
    }

    /// Refuses the deletions that cascade to a record which is the parent of, or is validated by, a remaining record.
    /// Otherwise a child would remain, and another record, in another share, could take its parent's name. If a
    /// participant must not know of a record to which its deletion cascades, the deletion spares that record instead,
    /// because a refusal would reveal it.
    ///
    /// This rule does not apply to the public database, where any account could prevent others from deleting their own
    /// records.
    /// - Returns: whether a deletion was refused or a record was spared.
    func refuseHeldCascade(
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
                    refused[origin] = refused[origin] ?? ReferenceRules.held(origin, by: holder, through: target)
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
