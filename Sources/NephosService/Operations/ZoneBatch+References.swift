import NephosStorage
import NephosWire

/// The rules for references.
extension ZoneBatch {
    /// Refuses saves whose owner, parent or validated record is neither stored nor saved by the batch. A refusal can
    /// remove the target of another save, so the check repeats until nothing changes.
    /// - Parameter gone: the names of the records to which the deletions cascade. Records that these own are also among
    ///   them; no remaining record may refer to one of them.
    func refuseSavesWithoutTarget(_ decisions: inout [ItemDecision], gone names: [String]) throws {
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
                decisions[index] = .refuse(ReferenceRules.missingTarget(missing, of: save.row.name), server: nil)
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
            // No record's name has other characters, though a name may be canonically equivalent to one that has.
            if !edge.target.hasASCIIOnly { return edge }
            if alive[edge.target] == nil {
                let stored = try reader.record(zone: zone.key, named: edge.target)
                // A damaged record counts as existing.
                alive[edge.target] =
                    try stored.map { try ($0.isDamaged || !$0.isDeleted) && isVisible($0.name) } ?? false
            }
            if alive[edge.target] == false { return edge }
        }
        return nil
    }

    /// Refuses saves that exceed the number of records that one record may own.
    /// - Throws: `limitExceeded` if the counts examine more than `Limits.sourcesPerBatch` references.
    func refuseTooManySources(_ decisions: inout [ItemDecision]) throws {
        var counts: [OwnedRecords: Int] = [:]
        var examined = 0
        for (index, decision) in decisions.enumerated() {
            guard case .save(let save) = decision, !save.newEdges.isEmpty else { continue }
            for edge in save.newEdges.subtracting(save.oldEdges) where edge.kind == .deleteSelf {
                let owned = OwnedRecords(owner: edge.target, creator: save.row.createdBy)
                let count = try counts[owned] ?? count(owned, decisions, &examined)
                counts[owned] = count + 1
                if examined > Limits.sourcesPerBatch { throw ReferenceRules.tooManySourcesCounted }
                guard count >= Limits.deleteSelfSources else { continue }
                decisions[index] = .refuse(ReferenceRules.tooManySources(of: edge.target), server: nil)
            }
        }
    }

    /// The owned records that count towards one limit: the records of one creator. In the public database and in a
    /// share any account may refer to a record, so an account must neither use up another account's limit nor learn of
    /// its references.
    private struct OwnedRecords: Hashable {
        var owner: String
        var creator: Int64
    }

    /// The number of stored records that count towards one limit, minus the records that the batch removes.
    private func count(_ owned: OwnedRecords, _ decisions: [ItemDecision], _ examined: inout Int) throws -> Int {
        let edge = ReferenceEdge(target: owned.owner, kind: .deleteSelf)
        func sources(_ limit: Int) throws -> [ReferenceRow] {
            let found = try reader.references(
                zone: zone.key, to: owned.owner, kinds: [.deleteSelf], after: nil, limit: limit)
            examined += found.count
            return found
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
    func refuseCircles(_ decisions: inout [ItemDecision]) throws {
        var parents: [String: String?] = [:]
        var changes: [Int] = []
        for (index, decision) in decisions.enumerated() {
            guard case .save(let save) = decision, save.row.parent != nil || save.stored?.parent != nil else {
                continue
            }
            parents[save.row.name] = .some(save.row.parent)
            if save.row.parent != save.stored?.parent { changes.append(index) }
        }
        let chains = ParentChains(saved: parents, storedParents)
        for index in changes {
            guard case .save(let save) = decisions[index] else { continue }
            if let error = try ReferenceRules.circle(save, chains) {
                decisions[index] = .refuse(error, server: nil)
            }
        }
    }
}
