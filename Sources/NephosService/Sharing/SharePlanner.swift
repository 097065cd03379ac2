import NephosStorage
import NephosWire

/// Decides what a batch does to the shares of its zone (`CKShare`, Apple's documentation):
///
/// - a new share of a hierarchy is saved with its root, or not at all; it may name the root's change tag instead;
/// - a record is under one share at most, its ancestors and descendants counted;
/// - a zone has either a share of the whole or shares of hierarchies;
/// - the owner's deletion of a share, or of its root, ends it, and takes the other with it;
/// - a participant's deletion of a share leaves it;
/// - what a record is under follows from its parent.
final class SharePlanner {
    let batch: ZoneBatch
    private var reader: any StorageReader { batch.reader }
    private var zone: ZoneRow { batch.zone }
    /// The zone's live shares, by the names of their roots and of their records.
    private var byRoot: [String: ShareRow] = [:]
    private var byRecord: [String: ShareRow] = [:]
    private var live: Set<Int64> = []
    private var zoneWide: ShareRow?
    private var hasManyShares = false
    private(set) var plan = SharePlan()
    /// What the batch saves, by name.
    private var saves: [String: PlannedSave] = [:]
    private var deleted: Set<String> = []
    private var resolved: [String: Int64?] = [:]

    init(_ batch: ZoneBatch) { self.batch = batch }

    // MARK: - Which records are under which share

    /// The live share whose root a record is.
    private func share(ofRoot name: String) throws -> ShareRow? {
        if let known = byRoot[name] { return live.contains(known.id) ? known : nil }
        guard hasManyShares, let share = try reader.lastShare(zone: zone.key, root: name), share.isLive,
            !plan.ended.contains(where: { $0.id == share.id })
        else { return nil }
        return share
    }

    private func storedUnder(_ name: String) throws -> Int64? {
        guard let shared = try reader.sharedRecord(zone: zone.key, named: name) else { return nil }
        if live.contains(shared.share) { return shared.share }
        guard hasManyShares, let share = try reader.share(id: shared.share), share.isLive,
            !plan.ended.contains(where: { $0.id == share.id })
        else { return nil }
        return share.id
    }

    /// The share that a record is under once the batch is written.
    private func under(_ name: String) throws -> Int64? {
        var chain: [String] = []
        var seen: Set<String> = []
        var current: String? = name
        var found: Int64?
        while let step = current, seen.insert(step).inserted, chain.count <= Limits.parentDepth {
            if let known = resolved[step] {
                found = known
                break
            }
            chain.append(step)
            if let share = try share(ofRoot: step) {
                found = share.id
                break
            }
            if deleted.contains(step) { break }
            if let save = saves[step] {
                current = save.row.parent
            } else {
                guard let row = try reader.record(zone: zone.key, named: step), !row.isDeleted else { break }
                current = row.parent
            }
        }
        for step in chain { resolved[step] = .some(found) }
        return found
    }

    // MARK: - Before references are looked at

    /// Reads the zone's shares. False where sharing does not concern the batch.
    func begin(_ operations: [Result<ValidOperation, ServiceError>]) throws -> Bool {
        guard ZoneRules.hasChangeFeed(zone.name), batch.caller.scope != .public else { return false }
        let shares = try reader.shares(zone: zone.key, limit: Self.sharesRead)
        hasManyShares = shares.count == Self.sharesRead
        for share in shares { note(share) }
        let concernsShares = operations.contains { operation in
            if case .success(let operation) = operation { operation.share != nil || operation.isOfShare } else { false }
        }
        plan.isNeeded = concernsShares || !shares.isEmpty
        plan.zoneWide = zoneWide?.id
        return plan.isNeeded
    }

    /// Of a zone with more shares than this each is looked up when it is needed.
    private static let sharesRead = 200

    private func note(_ share: ShareRow) {
        live.insert(share.id)
        byRecord[share.name] = share
        if share.isZoneWide { zoneWide = share } else { byRoot[share.root] = share }
    }

    private func share(named name: String) throws -> ShareRow? {
        if let known = byRecord[name] { return live.contains(known.id) ? known : nil }
        return hasManyShares ? try reader.share(zone: zone.key, named: name) : nil
    }

    /// Decides the saves of share records, and couples new ones to their roots.
    func decideShares(
        _ decisions: inout [ItemDecision], _ operations: [Result<ValidOperation, ServiceError>]
    ) throws {
        for (index, decision) in decisions.enumerated() {
            guard case .save(let save) = decision, save.row.type == SystemRecordType.share,
                case .success(let operation) = operations[index]
            else { continue }
            do throws(ServiceError) {
                if save.stored == nil {
                    try translate { try insert(index, save, operation, &decisions) }
                } else {
                    try translate { try update(save, operation) }
                }
            } catch {
                decisions[index] = .refuse(error, server: nil)
            }
        }
        refuseRootsOfRefused(&decisions, operations)
        couple(&decisions)
    }

    /// "Both are saved or neither": the root of a share that was refused before it was looked at here.
    private func refuseRootsOfRefused(
        _ decisions: inout [ItemDecision], _ operations: [Result<ValidOperation, ServiceError>]
    ) {
        for (index, operation) in operations.enumerated() where decisions[index].isRefusal {
            guard case .success(let operation) = operation, let root = operation.share?.forRecord?.recordName
            else { continue }
            for (other, decision) in decisions.enumerated() {
                guard case .save(let save) = decision, save.row.name == root else { continue }
                decisions[other] = .refuse(.atomicFailure, server: nil)
            }
        }
    }

    /// Hands on the errors of rules as what they are; others end the batch.
    private func translate(_ body: () throws -> Void) throws(ServiceError) {
        do {
            try body()
        } catch let error as ServiceError {
            throw error
        } catch {
            failure = failure ?? error
            throw .internalError
        }
    }
    private(set) var failure: (any Error)?

    private func insert(
        _ index: Int, _ save: PlannedSave, _ operation: ValidOperation, _ decisions: inout [ItemDecision]
    ) throws {
        let name = save.row.name
        let request = operation.share ?? ShareToModify()
        if batch.shared != nil { throw ServiceError.shareRefusal("only the owner of records may share them") }
        let isZoneWide = name == SystemRecordName.zoneWideShare
        var root = ""
        if isZoneWide {
            if !byRoot.isEmpty {
                throw ServiceError.invalid("the zone '\(zone.name)' holds shares of hierarchies; end them first")
            }
        } else {
            if zoneWide != nil {
                throw ServiceError(
                    .badRequest, .serverRejectedRequest, "the zone '\(zone.name)' is shared as a whole already")
            }
            root = try findRoot(request.forRecord, of: name, &decisions)
        }
        var guid = ShortGUID.make(batch.environment)
        if let former = try reader.lastShare(zone: zone.key, root: root) { guid = former.guid }
        let share = ShareRow(
            id: try batch.makeSequence(), zone: zone.key, name: name, root: root, guid: guid,
            publicPermission: SharePermission.none.number)
        plan.changes[name] = try change(share, [], request, .owner)
        note(share)
        newShares[name] = (index, share)
    }
    private var newShares: [String: (index: Int, share: ShareRow)] = [:]

    /// - Returns: the name of the root.
    private func findRoot(
        _ root: ShareToModify.Root?, of name: String, _ decisions: inout [ItemDecision]
    ) throws -> String {
        guard let root else {
            throw ServiceError.invalid(
                "the new share '\(name)' names no root record; save it together with the record that it shares")
        }
        let isSaved = decisions.contains {
            if case .save(let save) = $0 { save.row.name == root.recordName } else { false }
        }
        let isInBatch = batch.names.contains(root.recordName)
        if let existing = try share(ofRoot: root.recordName), existing.name != name {
            throw ServiceError.alreadyShared(root.recordName)
        }
        if isSaved || isInBatch { return root.recordName }
        guard let tag = root.recordChangeTag else {
            throw ServiceError.invalid(
                "the root record '\(root.recordName)' of the new share '\(name)' must be saved in the same request")
        }
        guard let row = try reader.record(zone: zone.key, named: root.recordName), !row.isDeleted,
            row.type != SystemRecordType.share
        else {
            throw ServiceError(.badRequest, .unknownItem, "Cannot share - no such record exists to share")
        }
        guard ChangeTag.matches(tag, sequence: row.sequence) else { throw ServiceError.staleChangeTag }
        return root.recordName
    }

    private func update(_ save: PlannedSave, _ operation: ValidOperation) throws {
        guard let share = try share(named: save.row.name) else { return }
        let editor = try editor(of: share)
        if let request = operation.share {
            plan.changes[share.name] = try change(
                share, try reader.participants(share: share.id), request, editor)
        }
    }

    private func editor(of share: ShareRow) throws -> Participants.Editor {
        guard let shared = batch.shared else { return .owner }
        let standing = shared.participation(in: share.id)?.standing ?? .outsider
        if case .refused(let reason) = ShareAccess.decide(.change, on: .share, by: standing) {
            throw ServiceError.shareRefusal(reason)
        }
        let account = batch.caller.account?.id
        guard let row = try reader.participants(share: share.id).first(where: { $0.account == account }) else {
            throw ServiceError.recordNotFound
        }
        return .administrator(row)
    }

    private func change(
        _ share: ShareRow, _ rows: [ShareParticipantRow], _ request: ShareToModify, _ editor: Participants.Editor
    ) throws -> Participants.Change {
        let participants = Participants(
            share: share, rows: rows, editor: editor, now: batch.merge.now, owner: zone.key.owner.rawValue,
            makeID: batch.environment.makeUUID, makeGUID: { [batch] in ShortGUID.make(batch.environment) })
        func wishes(_ identities: [UserIdentityDictionary]?) throws -> [Participants.Wish]? {
            try identities?.map { try wish(ParticipantDictionary(userIdentity: $0)) }
        }
        return try participants.change(
            request, try request.participants?.map { try wish($0) }, requesters: try wishes(request.requesters),
            blocked: try wishes(request.blocked))
    }

    private func wish(_ participant: ParticipantDictionary) throws -> Participants.Wish {
        let identity = participant.userIdentity
        let address = InvitationAddress.canonical(identity.lookupInfo) ?? ""
        var account: AccountRow?
        if let name = identity.userRecordName ?? identity.lookupInfo?.userRecordName {
            account = try reader.account(
                userRecordName: batch.caller.currentUser.resolve(name))
        } else if !address.isEmpty {
            account = try reader.account(named: address)
        }
        return Participants.Wish(dictionary: participant, account: account, address: address)
    }

    /// "Both are saved or neither": a share whose root is refused is refused, and the other way round.
    func couple(_ decisions: inout [ItemDecision]) {
        for (index, share) in newShares.values {
            let root = decisions.firstIndex { decision in
                if case .save(let save) = decision { save.row.name == share.root } else { false }
            }
            if case .save = decisions[index] {
                if root == nil, !share.isZoneWide, batch.names.contains(share.root) {
                    decisions[index] = .refuse(.atomicFailure, server: nil)
                    forget(share)
                }
            } else {
                if let root { decisions[root] = .refuse(.atomicFailure, server: nil) }
                forget(share)
            }
        }
    }

    private func forget(_ share: ShareRow) {
        live.remove(share.id)
        byRoot[share.root] = nil
        byRecord[share.name] = nil
        if share.isZoneWide { zoneWide = nil }
        plan.changes[share.name] = nil
        newShares[share.name] = nil
    }

    // MARK: - Once it is known what is deleted

    /// Ends the shares that go with what the batch deletes, and puts every record under its share. Refuses what would be
    /// under two, what a participant may not do, and circles of parents.
    /// - Returns: whether it refused something.
    func decideHierarchy(_ decisions: inout [ItemDecision], cascade: [String]) throws -> Bool {
        resolved = [:]
        saves = [:]
        deleted = Set(cascade)
        plan.under = [:]
        for decision in decisions {
            switch decision {
            case .save(let save): saves[save.row.name] = save
            case .delete(let row): deleted.insert(row.name)
            case .leave, .nothing, .refuse: break
            }
        }
        try endShares()
        var hasRefused = false
        for (index, decision) in decisions.enumerated() {
            guard case .save(let save) = decision else { continue }
            do throws(ServiceError) {
                try translate { try place(save) }
            } catch {
                decisions[index] = .refuse(error, server: nil)
                hasRefused = true
            }
        }
        try changeRoots(&decisions, &hasRefused)
        if let failure { throw failure }
        if hasRefused { couple(&decisions) }
        return hasRefused
    }

    /// Has the roots that the batch does not save itself refer to their new shares, and no more to those that end.
    private func changeRoots(_ decisions: inout [ItemDecision], _ hasRefused: inout Bool) throws {
        plan.roots = []
        for (index, share) in newShares.values where !share.isZoneWide && saves[share.root] == nil {
            do throws(ServiceError) {
                try translate {
                    guard let save = try rootSave(share, to: share.name) else { throw ServiceError.recordNotFound }
                    try place(save)
                    plan.roots.append(save)
                }
            } catch {
                decisions[index] = .refuse(error, server: nil)
                hasRefused = true
            }
        }
        for share in plan.ended where !share.isZoneWide && !deleted.contains(share.root) && saves[share.root] == nil {
            if let save = try rootSave(share, to: nil) { plan.roots.append(save) }
        }
    }

    private func rootSave(_ share: ShareRow, to name: String?) throws -> PlannedSave? {
        guard let row = try reader.record(zone: zone.key, named: share.root), !row.isDeleted else { return nil }
        let edges = ReferenceGraph.edges(of: row)
        var save = PlannedSave(
            row: batch.merge.touched(row), stored: row, fields: RecordFields(), oldEdges: edges, newEdges: edges,
            isWhole: false)
        save.setShare(name)
        return save
    }

    private func endShares() throws {
        for share in plan.ended { note(share) }
        plan.ended = []
        plan.deletions = []
        for name in deleted.sorted() {
            if let share = try share(named: name) {
                end(share)
            } else if let share = try share(ofRoot: name) {
                end(share)
                if let record = try reader.record(zone: zone.key, named: share.name), !record.isDeleted,
                    !deleted.contains(share.name)
                {
                    plan.deletions.append(record)
                }
            }
        }
    }

    private func end(_ share: ShareRow) {
        plan.ended.append(share)
        live.remove(share.id)
    }

    private func place(_ save: PlannedSave) throws {
        let name = save.row.name
        if save.row.type == SystemRecordType.share {
            if let share = try share(named: name), !share.isZoneWide { plan.under[name] = .some(share.id) }
            return
        }
        try refuseCircle(save)
        let new = try under(name)
        if let shared = batch.shared { try check(save, new, shared) }
        if let share = try share(ofRoot: name) {
            let isNewRoot = newShares[share.name] != nil
            if isNewRoot || save.row.parent != save.stored?.parent, let parent = save.row.parent,
                let other = try under(parent), other != share.id
            {
                throw ServiceError.alreadyShared(name)
            }
        }
        let old = save.stored == nil ? nil : try storedUnder(name)
        plan.under[name] = .some(new)
        if save.stored != nil, old != new { try move(below: name, to: new) }
    }

    /// Takes what is below a record along.
    private func move(below name: String, to share: Int64?) throws {
        var waiting = [name]
        while let parent = waiting.popLast() {
            for child in try children(of: parent) where plan.under[child] == nil {
                if let own = try self.share(ofRoot: child), own.id != share {
                    if share == nil { continue }
                    throw ServiceError.alreadyShared(child)
                }
                if plan.under.count >= Limits.sharedRecordsPerCommit {
                    throw ServiceError.limitExceeded(
                        "more than \(Limits.sharedRecordsPerCommit) records would be moved with '\(name)'")
                }
                plan.under[child] = .some(share)
                waiting.append(child)
            }
        }
    }

    private func children(of name: String) throws -> [String] {
        var children: [String] = []
        var last: String?
        while true {
            let page = try reader.references(
                zone: zone.key, to: name, kinds: [.parent], after: last, limit: Limits.referencesPerRead)
            children += page.map(\.source).filter { saves[$0] == nil && !deleted.contains($0) }
            guard page.count == Limits.referencesPerRead else { break }
            last = page.last?.source
        }
        return children + saves.values.filter { $0.row.parent == name }.map(\.row.name)
    }

    private func refuseCircle(_ save: PlannedSave) throws {
        guard save.row.parent != nil, save.row.parent != save.stored?.parent else { return }
        let parents = saves.mapValues(\.row.parent)
        if let error = try ParentRules.circle(save, parents, reader) { throw error }
    }

    // MARK: - Participants

    private func check(_ save: PlannedSave, _ new: Int64?, _ shared: SharedZone) throws {
        let isRoot = try share(ofRoot: save.row.name) != nil
        let movesParent = save.stored != nil && save.row.parent != save.stored?.parent
        if let zoneWide = shared.zoneWide {
            return try require(save.stored == nil ? .create : .change, isRoot ? .root : .record, zoneWide.standing)
        }
        if save.stored != nil {
            let standing = try shared.standing(on: save.row.name, reader)
            try require(.change, isRoot ? .root : .record, standing)
            if movesParent {
                if let parent = save.row.parent, try !isVisible(parent, shared) {
                    throw ParentRules.missingTarget(ReferenceEdge(target: parent, kind: .parent), of: save.row.name)
                }
                let leaves = try new != storedUnder(save.row.name)
                if isRoot || leaves { try require(.move, .record, standing) }
            }
            return
        }
        guard let parent = save.row.parent else {
            throw ServiceError.shareRefusal(
                "a new record of the shared database needs a parent that is shared: record '\(save.row.name)'")
        }
        guard let new, let participation = shared.participation(in: new) else {
            throw ParentRules.missingTarget(ReferenceEdge(target: parent, kind: .parent), of: save.row.name)
        }
        try require(.create, .record, participation.standing)
    }

    private func isVisible(_ name: String, _ shared: SharedZone) throws -> Bool {
        if let new = try under(name) { return shared.participation(in: new) != nil }
        return false
    }

    private func require(
        _ action: ShareAccess.Action, _ subject: ShareAccess.Subject, _ standing: ShareAccess.Standing
    ) throws {
        switch ShareAccess.decide(action, on: subject, by: standing) {
        case .allowed: break
        case .invisible: throw ServiceError.recordNotFound
        case .refused(let reason): throw ServiceError.shareRefusal(reason)
        }
    }

    // MARK: - The plan

    /// What is to be done for the decisions as they are settled.
    func finish(_ decisions: inout [ItemDecision]) throws -> SharePlan {
        guard decisions.contains(where: { !$0.isRefusal }) else { return .none }
        var saved: Set<String> = []
        for (index, decision) in decisions.enumerated() {
            switch decision {
            case .save(var save):
                saved.insert(save.row.name)
                if save.row.type != SystemRecordType.share {
                    save.setShare(try share(ofRoot: save.row.name)?.name)
                    decisions[index] = .save(save)
                }
            case .leave(let record): try leave(record)
            case .delete, .nothing, .refuse: break
            }
        }
        plan.changes = plan.changes.filter { saved.contains($0.key) }
        return plan
    }

    private func leave(_ record: RecordRow) throws {
        guard let account = batch.caller.account, let share = try share(named: record.name),
            let row = try reader.participants(share: share.id).first(where: { $0.account == account.id })
        else { return }
        plan.left.append((share, row, record))
    }
}

extension PlannedSave {
    /// Sets the record's reference to the share that it is the root of. The service alone does.
    mutating func setShare(_ name: String?) {
        guard row.share != name else { return }
        row.share = name
        newEdges = ReferenceGraph.edges(of: row)
    }
}
