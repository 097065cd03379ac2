import NephosStorage
import NephosWire

/// Decides the changes that a batch makes to the shares of its zone (`CKShare`, Apple's documentation):
///
/// - a new share of a hierarchy is saved together with its root, or not at all; it may name the root's change tag
///   instead;
/// - a record is under one share at most, including its ancestors and descendants;
/// - a zone has either a zone-wide share or shares of hierarchies;
/// - the owner's deletion of a share or of its root ends the share, and the deletion of the root also deletes the
///   share's record;
/// - a participant that deletes a share leaves it;
/// - the share of a record follows from the record's parent.
struct SharePlanner {
    private let batch: ZoneBatch
    private let shares: ZoneShares
    private var edits: ShareEdits
    private var plan = SharePlan(isNeeded: true)
    private var reader: StorageReader { batch.reader }

    /// Reads the zone's shares.
    /// - Returns: nil if sharing does not concern the batch.
    init?(_ batch: ZoneBatch, _ operations: [Result<ValidOperation, ServiceError>]) throws {
        guard ZoneRules.hasChangeFeed(batch.zone.name), batch.caller.scope != .public else { return nil }
        let shares = try ZoneShares(batch.zone.key, batch.reader)
        let concernsShares = operations.contains { operation in
            if case .success(let operation) = operation { operation.share != nil || operation.isOfShare } else { false }
        }
        guard concernsShares || !shares.isEmpty else { return nil }
        try batch.reader.expectSharedRecords(zone: batch.zone.key, named: batch.names)
        self.batch = batch
        self.shares = shares
        edits = ShareEdits(batch: batch, shares: shares)
        plan.zoneWide = shares.zoneWide?.id
    }

    mutating func decideShares(
        _ decisions: inout [ItemDecision], _ operations: [Result<ValidOperation, ServiceError>]
    ) throws {
        try edits.decide(&decisions, operations)
    }

    mutating func couple(_ decisions: inout [ItemDecision]) { edits.couple(&decisions) }

    // MARK: - Hierarchies, once the deletions are known

    /// Ends the shares whose records or roots are deleted, and places every saved record under its share. Refuses
    /// records that would be under two shares, saves that a participant may not make, and cycles of parents.
    mutating func decideHierarchy(_ decisions: inout [ItemDecision], cascade: [String]) throws {
        shares.reviveEnded()
        let hierarchy = ShareHierarchy(shares, batch.storedParents, decisions, cascade: cascade)
        try endShares(hierarchy)
        var hasRefused = false
        for (index, decision) in decisions.enumerated() {
            guard case .save(let save) = decision else { continue }
            do {
                try hierarchy.refuseCircle(save)
                try batch.shared.map { try ParticipantChecks(zone: $0, shares, hierarchy, reader).check(save) }
                try hierarchy.place(save)
            } catch let error as ServiceError {
                decisions[index] = .refuse(error, server: nil)
                hasRefused = true
            }
        }
        try changeRoots(hierarchy, &decisions, &hasRefused)
        plan.under = hierarchy.under
        plan.moves = hierarchy.moves
        if hasRefused { couple(&decisions) }
    }

    private mutating func endShares(_ hierarchy: ShareHierarchy) throws {
        plan.deletions = []
        for name in hierarchy.deletedNames {
            if let share = try shares.share(named: name) {
                shares.end(share)
            } else if let share = try shares.share(ofRoot: name) {
                shares.end(share)
                if let record = try reader.record(zone: shares.zone, named: share.name), !record.isDeleted,
                    !hierarchy.isDeleted(share.name)
                {
                    plan.deletions.append(record)
                }
            }
        }
    }

    /// Changes the share references of roots that the batch does not save: to new shares, and to nil for ended shares.
    private mutating func changeRoots(
        _ hierarchy: ShareHierarchy, _ decisions: inout [ItemDecision], _ hasRefused: inout Bool
    ) throws {
        plan.roots = []
        for (index, share) in shares.new.values
        where !share.isZoneWide && (!hierarchy.isSaved(share.root) || hierarchy.isDeleted(share.root)) {
            do {
                guard !hierarchy.isDeleted(share.root), let save = try rootSave(share, to: share.name) else {
                    throw ServiceError.recordNotFound
                }
                try hierarchy.place(save)
                plan.roots.append(save)
            } catch let error as ServiceError {
                decisions[index] = .refuse(error, server: nil)
                hasRefused = true
            }
        }
        for share in shares.ended
        where !share.isZoneWide && !hierarchy.isDeleted(share.root) && !hierarchy.isSaved(share.root) {
            if let save = try rootSave(share, to: nil) { plan.roots.append(save) }
        }
    }

    private func rootSave(_ share: ShareRow, to name: String?) throws -> PlannedSave? {
        guard let row = try reader.record(zone: shares.zone, named: share.root), !row.isDeleted else { return nil }
        let edges = ReferenceGraph.edges(of: row)
        var save = PlannedSave(
            row: batch.merge.touched(row), stored: row, fields: RecordFields(), oldEdges: edges, newEdges: edges,
            isWhole: false)
        save.setShare(name)
        return save
    }

    // MARK: - Keys of encrypted values

    /// The group whose key wraps a record's keys: the name of the record's share, or empty for the zone.
    func keyGroup(of name: String) throws -> String {
        if shares.zoneWide != nil { return "" }
        let share =
            try plan.under[name]
            ?? reader.sharedRecord(zone: shares.zone, named: name).flatMap {
                try shares.isLive(id: $0.share) ? $0.share : nil
            }
        return try share.flatMap { try shares.name(of: $0) } ?? ""
    }

    /// The owner's records that the batch moves into a share or out of one, by name.
    func recordsThatMove() throws -> [String: KeyMove] {
        guard batch.shared == nil, shares.zoneWide == nil else { return [:] }
        var result: [String: KeyMove] = [:]
        for (name, share) in plan.under {
            let former = try formerShare(of: name)
            guard former != share, let group = try share.map({ try shares.name(of: $0) }) ?? "" else { continue }
            result[name] = KeyMove(group: group, left: try former.flatMap { try shares.name(of: $0) })
        }
        return result
    }

    /// The ID of the live share that a record is under before the batch; nil if it is under none.
    private func formerShare(of name: String) throws -> Int64? {
        try reader.sharedRecord(zone: shares.zone, named: name).flatMap {
            try shares.isLive(id: $0.share) ? $0.share : nil
        }
    }

    /// The names of the shares that the batch creates.
    var newShares: Set<String> { Set(shares.new.keys) }

    /// The names of the shares whose save lacks a signed list of participants.
    var sharesToSign: Set<String> { Set(edits.changes.filter(\.value.lacksSignature).keys) }

    /// The names of the shares into which or out of which a background job moves records.
    func movedShares() throws -> Set<String> {
        Set(
            try plan.moves.compactMap { name in
                try (plan.under[name] ?? nil ?? formerShare(of: name)).flatMap { try shares.name(of: $0) }
            })
    }

    // MARK: - The plan

    /// Completes the plan according to the final decisions.
    mutating func finish(_ decisions: inout [ItemDecision]) throws -> SharePlan {
        guard decisions.contains(where: { !$0.isRefusal }) else { return .none }
        var saved: Set<String> = []
        for (index, decision) in decisions.enumerated() {
            switch decision {
            case .save(var save):
                saved.insert(save.row.name)
                if save.row.type != SystemRecordType.share {
                    save.setShare(try shares.share(ofRoot: save.row.name)?.name)
                    decisions[index] = .save(save)
                }
            case .leave(let record): try leave(record)
            case .delete, .nothing, .refuse: break
            }
        }
        plan.changes = edits.changes.filter { saved.contains($0.key) }
        plan.ended = shares.ended
        return plan
    }

    private mutating func leave(_ record: RecordRow) throws {
        guard let account = batch.caller.account, let share = try shares.share(named: record.name),
            let row = try reader.participant(share: share.id, account: account.id)
        else { return }
        plan.left.append((share, row, record))
    }
}

extension PlannedSave {
    /// Sets the record's reference to the share of which the record is the root. Clients cannot set it.
    mutating func setShare(_ name: String?) {
        guard row.share != name else { return }
        row.share = name
        newEdges = ReferenceGraph.edges(of: row)
    }
}
