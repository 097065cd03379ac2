import NephosStorage
import NephosWire

/// Decides the saves of share records in a batch: new shares, their roots, and the changes to participants.
struct ShareEdits {
    let batch: ZoneBatch
    let shares: ZoneShares
    /// The changes that saves make to their shares, by the names of the share records.
    private(set) var changes: [String: ParticipantEdits.Change] = [:]
    private var reader: StorageReader { batch.reader }

    init(batch: ZoneBatch, shares: ZoneShares) {
        self.batch = batch
        self.shares = shares
    }

    mutating func decide(
        _ decisions: inout [ItemDecision], _ operations: [Result<ValidOperation, ServiceError>]
    ) throws {
        for (index, decision) in decisions.enumerated() {
            guard case .save(let save) = decision, save.row.type == SystemRecordType.share,
                case .success(let operation) = operations[index]
            else { continue }
            do {
                if save.stored == nil {
                    try insert(index, save, operation, decisions)
                } else {
                    try update(save, operation)
                }
            } catch let error as ServiceError {
                decisions[index] = .refuse(error, server: nil)
            }
        }
        refuseRootsOfRefused(&decisions, operations)
        couple(&decisions)
    }

    // MARK: - New shares

    private mutating func insert(
        _ index: Int, _ save: PlannedSave, _ operation: ValidOperation, _ decisions: [ItemDecision]
    ) throws {
        let name = save.row.name
        let request = operation.share ?? ShareToModify()
        if batch.shared != nil { throw ServiceError.shareRefusal("only the owner of records may share them") }
        var root = ""
        if name == SystemRecordName.zoneWideShare {
            if let root = request.forRecord { throw ServiceError.zoneWideShareOf(root.recordName) }
            try shares.checkTakesZoneWideShare(batch.zone.name)
        } else {
            try shares.checkTakesHierarchy(batch.zone.name)
            if try PerZone.isSet(shares.zone, reader) {
                throw ServiceError.invalid(
                    "the zone '\(batch.zone.name)' has one key for the encrypted values of all records: it can be shared as a"
                        + " whole only")
            }
            root = try findRoot(request.forRecord, of: name, decisions)
        }
        // A record that is shared again gets the same URL.
        let guid = try reader.lastShare(zone: shares.zone, root: root)?.guid ?? batch.makeShortGUID()
        let share = ShareRow(
            id: try batch.makeSequence(), zone: shares.zone, name: name, root: root, guid: guid,
            publicPermission: SharePermission.none.number)
        changes[name] = try change(share, [], request, .owner)
        shares.add(share, by: index)
    }

    /// Finds and checks the root of a new share.
    /// - Returns: the name of the root record.
    private func findRoot(
        _ root: ShareToModify.Root?, of name: String, _ decisions: [ItemDecision]
    ) throws -> String {
        guard let root else {
            throw ServiceError.invalid(
                "the new share '\(name)' names no root record; save it together with the record that it shares")
        }
        let saved = decisions.lazy.compactMap { decision -> RecordRow? in
            if case .save(let save) = decision, save.row.name == root.recordName { save.row } else { nil }
        }.first
        if root.recordName == name || saved?.type == SystemRecordType.share {
            throw ServiceError.invalid("the share '\(name)' cannot have a share for its root: '\(root.recordName)'")
        }
        let isInBatch = batch.names.contains(root.recordName)
        if let existing = try shares.share(ofRoot: root.recordName), existing.name != name {
            throw ServiceError.alreadyShared(root.recordName)
        }
        if saved != nil || isInBatch { return root.recordName }
        guard let tag = root.recordChangeTag else {
            throw ServiceError.invalid(
                "the root record '\(root.recordName)' of the new share '\(name)' must be saved in the same request")
        }
        guard let row = try reader.record(zone: shares.zone, named: root.recordName), !row.isDeleted,
            row.type != SystemRecordType.share
        else {
            throw ServiceError(.badRequest, .unknownItem, "Cannot share - no such record exists to share")
        }
        guard ChangeTag.matches(tag, sequence: row.sequence) else { throw ServiceError.staleChangeTag }
        return root.recordName
    }

    /// Refuses the root of a share that was already refused: "Both are saved or neither".
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

    /// Refuses a share whose root is refused, and the root of a refused share: "Both are saved or neither".
    mutating func couple(_ decisions: inout [ItemDecision]) {
        for (index, share) in shares.new.values {
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

    private mutating func forget(_ share: ShareRow) {
        shares.remove(new: share)
        changes[share.name] = nil
    }

    // MARK: - Participants

    private mutating func update(_ save: PlannedSave, _ operation: ValidOperation) throws {
        guard let share = try shares.share(named: save.row.name) else { return }
        let editor = try editor(of: share)
        if let request = operation.share {
            changes[share.name] = try change(share, try reader.participants(share: share.id), request, editor)
        }
    }

    private func editor(of share: ShareRow) throws -> ParticipantEdits.Editor {
        guard let shared = batch.shared else { return .owner }
        let standing = shared.participation(in: share.id)?.standing ?? .outsider
        if case .refused(let reason) = ShareAccess.decide(.change, on: .share, by: standing) {
            throw ServiceError.shareRefusal(reason)
        }
        guard let account = batch.caller.account,
            let row = try reader.participant(share: share.id, account: account.id)
        else { throw ServiceError.recordNotFound }
        return .administrator(row)
    }

    private func change(
        _ share: ShareRow, _ rows: [ShareParticipantRow], _ request: ShareToModify, _ editor: ParticipantEdits.Editor
    ) throws -> ParticipantEdits.Change {
        var participants = ParticipantEdits(
            share: share, rows: rows, editor: editor, now: batch.merge.now, owner: shares.zone.owner.rawValue,
            makeID: batch.environment.makeUUID, makeGUID: batch.makeShortGUID,
            signed: try batch.signedParticipants(request.signedParticipants, of: share))
        let known = Set(rows.map(\.id))
        if request.participants?.contains(where: { $0.participantID.map { !known.contains($0) } ?? false }) == true,
            try !StoredGroupKeys.hasKey(share, reader)
        {
            participants.former = try FormerParticipants.read(
                StoredGroupKeys.group(of: share), shares.zone, reader)
        }
        func wishes(_ identities: [UserIdentityDictionary]?) throws -> [ParticipantEdits.Wish]? {
            try identities?.map { try wish(ParticipantDictionary(userIdentity: $0)) }
        }
        var change = try participants.change(
            request, try request.participants?.map { try wish($0) }, requesters: try wishes(request.requesters),
            blocked: try wishes(request.blocked))
        try countInvitations(change, rows)
        change.signed = participants.signed
        change.noteGains(rows, before: share)
        if batch.knowsKeys, change.signed == nil {
            change.lacksSignature = try !change.gains.isEmpty || leavesUnsigned(change, rows)
        }
        return change
    }

    /// Whether a participant that got access unsigned still has it after the change.
    private func leavesUnsigned(_ change: ParticipantEdits.Change, _ rows: [ShareParticipantRow]) throws -> Bool {
        let unsigned = try StoredParticipants.unsigned(
            of: StoredGroupKeys.group(of: change.share), shares.zone, reader)
        if unsigned.isEmpty { return false }
        let isOpen = change.share.openPermission != .none
        let removed = Set(change.removed.map(\.id))
        let written = Dictionary(change.written.map { ($0.id, $0) }) { $1 }
        return isOpen && unsigned.contains(StoredParticipants.everyone)
            || rows.contains { row in
                unsigned.contains(row.id) && !removed.contains(row.id)
                    && (written[row.id] ?? row).permission(in: change.share) != .none
            }
    }

    /// Applies the rate limit of look-ups to new invitations, because an invitation also reveals whether an address
    /// belongs to an account.
    private func countInvitations(_ change: ParticipantEdits.Change, _ rows: [ShareParticipantRow]) throws {
        let known = Set(rows.map(\.id))
        let count = change.written.count { $0.isParticipant && !$0.address.isEmpty && !known.contains($0.id) }
        guard let account = batch.caller.account, count > 0 else { return }
        guard batch.invitations.take(count, to: change.share.name, by: account.id, at: batch.merge.now) else {
            throw ServiceError.tooManyLookups
        }
    }

    private func wish(_ participant: ParticipantDictionary) throws -> ParticipantEdits.Wish {
        let identity = participant.userIdentity
        let address = InvitationAddress.canonical(identity.lookupInfo) ?? ""
        var account: AccountRow?
        if let name = identity.userRecordName ?? identity.lookupInfo?.userRecordName {
            account = try reader.liveAccount(
                userRecordName: batch.caller.currentUser.resolve(name))
        } else if !address.isEmpty {
            account = try reader.account(ofAddress: address)
        }
        return ParticipantEdits.Wish(dictionary: participant, account: account, address: address)
    }
}

extension ServiceError {
    /// The error for a zone-wide share that names a root record. Such a share would share all records of the zone.
    static func zoneWideShareOf(_ root: String) -> ServiceError {
        .invalid(
            "'\(SystemRecordName.zoneWideShare)' is the name of the share of a whole zone, which has no root:"
                + " give the share of record '\(Identifier.excerpt(root))' another name, or make it for the zone's ID")
    }
}

extension StorageReader {
    /// The row of an account in a share; nil if there is none. A participant's row precedes a requester's or a blocked
    /// account's row.
    func participant(share: Int64, account: Int64) throws -> ShareParticipantRow? {
        try participants(share: share, account: account).participant
    }
}

extension [ShareParticipantRow] {
    /// The effective row among an account's rows in a share; nil without rows.
    var participant: ShareParticipantRow? { first { $0.isParticipant } ?? first }
}
