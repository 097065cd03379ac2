import NephosStorage

/// The cascade of the deletions in a batch.
struct PlannedDeletion {
    var cascade: [String] = []
    /// Whether the cascade runs in the transaction instead of in the background.
    var isImmediate = true
    /// The names of the deleted records whose cascade runs in the background.
    var owners: [String] = []
    /// The reference graph of a large cascade; nil for other cascades.
    var graph: BatchGraph?
}

/// Plans a batch's deletions, and refuses the deletions that references prevent.
extension ZoneBatch {
    /// Finds the cascade, and refuses each deletion whose record or cascade includes a record that a remaining record
    /// holds. A refusal can make the holder of another record remain, so the search repeats until nothing changes.
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

    /// Whether a participant's deletion cascades to a record. It cascades to no root and no share, which only their
    /// owner may delete, and to no record whose holder the participant must not know of.
    private func mayCascade(to name: String, _ spared: Set<String>) throws -> Bool {
        if spared.contains(name) { return false }
        guard let row = try reader.record(zone: zone.key, named: name) else { return true }
        return row.share == nil && row.type != SystemRecordType.share
    }
}
