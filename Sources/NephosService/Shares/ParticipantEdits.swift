import NephosCrypto
import NephosStorage
import NephosWire

/// Decides how a save changes a share's participants. The client's list is a request, which is compared with the stored
/// rows. The list can invite and remove participants, and change permissions and the roles of private users.
/// Acceptance, the owner and dates can only be changed by the service. A client chooses the identifier of a participant
/// that it adds, and changes one only with a signed list.
struct ParticipantEdits {
    /// The caller that edits the share: the owner, or an administrator with this row.
    enum Editor {
        case owner
        case administrator(ShareParticipantRow)

        func isOwn(_ row: ShareParticipantRow) -> Bool {
            if case .administrator(let own) = self { own.id == row.id } else { false }
        }
    }

    struct Change {
        var share: ShareRow
        var written: [ShareParticipantRow] = []
        var removed: [ShareParticipantRow] = []
        /// The former identifiers of written rows that take the identifier of a signed list.
        var renamed: [String] = []
        /// The list of participants that the save signs; nil if it signs none.
        var signed: SignedParticipants?
        /// The identifiers of the participants that gain access; `StoredParticipants.everyone` if everyone with the URL
        /// does.
        var gains: Set<String> = []
        /// Whether the caller knows keys, and has to sign who takes part.
        var lacksSignature = false
    }

    /// A participant that a request lists, with the participant's account if the service knows it. An account with two
    /// addresses is one participant.
    struct Wish {
        var dictionary: ParticipantDictionary
        var account: AccountRow?
        var address: String
    }

    var share: ShareRow
    var rows: [ShareParticipantRow]
    var editor: Editor
    var now: Int64
    var owner: Int64
    let makeID: () -> String
    let makeGUID: () -> String
    /// The list of participants that the save signs. Its identifiers become those of the participants that it names.
    var signed: SignedParticipants?
    /// The former participants of the share; nil if a client's choice of identifiers counts only with a signed list, as
    /// in a share with a key.
    var former: FormerParticipants?

    /// The change of the share that a request makes.
    /// - Parameters:
    ///   - request: the client's request.
    ///   - wishes: the participants of the request, with their accounts; nil if the request omits the list.
    ///   - requesters: the requesters that the request keeps; nil if the request omits the list.
    ///   - blocked: the accounts that the request blocks; nil if the request omits the list.
    func change(
        _ request: ShareToModify, _ wishes: [Wish]?, requesters: [Wish]?, blocked: [Wish]?
    ) throws(ServiceError) -> Change {
        var change = Change(share: share)
        var rows = rows
        let formerPermission = share.openPermission
        if let permission = request.publicPermission, permission != .unknown {
            change.share.openPermission = permission
        }
        if let denies = request.deniesAccessRequests { change.share.allowsRequests = !denies }
        if let wishes { try apply(wishes, to: &rows, &change) }
        open(from: formerPermission, &rows, &change)
        // Blocking precedes denying: a blocked account is no longer a requester, so its request is not merely denied.
        if let blocked { try block(blocked, &rows, &change) }
        if let requesters { deny(keeping: requesters, &rows, &change) }
        if rows.filter(\.isParticipant).count > Limits.shareParticipants { throw .tooManyParticipants }
        return change
    }

    // MARK: - Invitations and removals

    private func apply(
        _ wishes: [Wish], to rows: inout [ShareParticipantRow], _ change: inout Change
    ) throws(ServiceError) {
        var named: Set<String> = []
        // An identifier that the list repeats stands for the first participant that it adds, and for no other.
        var added: Set<String> = []
        for wish in wishes {
            if wish.dictionary.role == .owner || wish.account?.id == owner { continue }
            var index = rows.firstIndex { $0.isParticipant && wish.means($0, byID: !added.contains($0.id)) }
            if let row = index.map({ rows[$0] }), wish.invites(row), change.share.openPermission == .none {
                remove(row, &rows, &change)
                index = nil
            }
            guard let index else {
                if added.count >= Limits.shareParticipants { throw .tooManyParticipants }
                let id = try invite(wish, &rows, &change)
                added.insert(id)
                named.insert(id)
                continue
            }
            let updated = try update(rows[index], wish, others: rows)
            named.insert(updated.id)
            if updated != rows[index] {
                if updated.id != rows[index].id { change.renamed.append(rows[index].id) }
                rows[index] = updated
                change.written.append(updated)
            }
        }
        for row in rows where row.isParticipant && !named.contains(row.id) && !editor.isOwn(row) {
            remove(row, &rows, &change)
        }
    }

    /// Returns the identifier of a participant in the signed list, unless another row has it; nil without such a list.
    /// In a share with a key no other request chooses an identifier, so none gives a signed one to another account.
    private func signedID(of wish: Wish, _ rows: [ShareParticipantRow]) -> String? {
        guard let id = wish.dictionary.participantID, signed?.list.participants.contains(id) == true,
            !rows.contains(where: { $0.id == id })
        else { return nil }
        return id
    }

    /// Returns the identifier that a client chose for a participant that it adds, unless another participant has it, or
    /// had it before; nil without such a choice.
    private func chosenID(of wish: Wish, _ rows: [ShareParticipantRow]) -> String? {
        guard let id = wish.dictionary.participantID, former?.admits(id) == true,
            !(self.rows + rows).contains(where: { $0.id.uppercased() == id.uppercased() })
        else { return nil }
        return id
    }

    private func update(
        _ row: ShareParticipantRow, _ wish: Wish, others: [ShareParticipantRow]
    ) throws(ServiceError) -> ShareParticipantRow {
        var updated = row
        if signed?.list.participants.contains(row.id) == false { updated.id = signedID(of: wish, others) ?? row.id }
        let isPublic = ParticipantRole(number: row.role) == .publicUser
        if let permission = wish.dictionary.permission, permission != .unknown, !isPublic {
            updated.permission = permission.number
        }
        if let role = wish.dictionary.role, !isPublic, role == .administrator || role == .privateUser {
            updated.role = role.number
        }
        if updated.role != row.role, editor.isOwn(row) {
            throw .shareRefusal("an administrator cannot change its own role")
        }
        return updated
    }

    /// Adds a participant.
    /// - Returns: the identifier of the new participant.
    private func invite(
        _ wish: Wish, _ rows: inout [ShareParticipantRow], _ change: inout Change
    ) throws(ServiceError) -> String {
        let wanted = wish.dictionary
        if wanted.role == .publicUser {
            throw .invalid("a participant of the type PUBLIC_USER cannot be added: such join by the share's URL")
        }
        if change.share.openPermission != .none {
            throw .invalid("participants can be added only while the share's publicPermission is NONE")
        }
        let isOneTime = wanted.oneTimeGUID != nil
        guard isOneTime || wish.account != nil || !wish.address.isEmpty else {
            throw .invalid("a participant to be added needs a userIdentity with a lookupInfo")
        }
        let permission = wanted.permission ?? .readOnly
        var row = ShareParticipantRow(
            share: share.id, id: signedID(of: wish, rows) ?? chosenID(of: wish, rows) ?? makeID(),
            account: wish.account?.id ?? 0, address: wish.address,
            role: (wanted.role == .administrator ? ParticipantRole.administrator : .privateUser).number,
            permission: (permission == .unknown ? .readOnly : permission).number,
            status: AcceptanceStatus.pending.number, addedAt: now + Int64(change.written.count),
            oneTimeGUID: isOneTime && wish.account == nil && wish.address.isEmpty ? makeGUID() : "")
        // An invitation also approves the account's request for access.
        if let request = rows.first(where: { $0.isRequester && $0.account != 0 && $0.account == row.account }) {
            row.isApprovedRequester = true
            remove(request, &rows, &change)
        }
        rows.append(row)
        change.written.append(row)
        return row.id
    }

    private func remove(_ row: ShareParticipantRow, _ rows: inout [ShareParticipantRow], _ change: inout Change) {
        rows.removeAll { $0.id == row.id }
        change.written.removeAll { $0.id == row.id }
        change.removed.append(row)
    }

    // MARK: - Public permission

    /// Removes the participants that a change of the public permission removes: "Changing to read-only or read-write
    /// removes all pending participants"; a change to none removes participants that joined by the URL
    /// (`CKShare.publicPermission`, Apple's documentation).
    private func open(from former: SharePermission, _ rows: inout [ShareParticipantRow], _ change: inout Change) {
        if change.share.openPermission == former { return }
        for row in rows where row.isParticipant {
            let leaves =
                change.share.openPermission == .none
                ? ParticipantRole(number: row.role) == .publicUser : !row.hasAccepted
            if leaves { remove(row, &rows, &change) }
        }
    }

    // MARK: - Requests for access

    /// Denies the requests for access that the client's list omits.
    private func deny(keeping requesters: [Wish], _ rows: inout [ShareParticipantRow], _ change: inout Change) {
        for row in rows where row.isRequester && !requesters.contains(where: { $0.means(row) }) {
            remove(row, &rows, &change)
        }
    }

    /// Blocks the listed requesters and participants, and unblocks the blocked accounts that the list omits.
    private func block(
        _ blocked: [Wish], _ rows: inout [ShareParticipantRow], _ change: inout Change
    ) throws(ServiceError) {
        for row in rows {
            let isNamed = blocked.contains { $0.means(row) }
            if row.isBlocked && !isNamed { remove(row, &rows, &change) }
            guard isNamed, !row.isBlocked, row.account != 0, !editor.isOwn(row) else { continue }
            remove(row, &rows, &change)
            if rows.contains(where: { $0.isBlocked && $0.account == row.account }) { continue }
            if rows.filter(\.isBlocked).count >= Limits.shareRequesters {
                throw .limitExceeded("a share blocks \(Limits.shareRequesters) accounts at most; unblock some first")
            }
            let refused = ShareParticipantRow(
                share: share.id, id: makeID(), account: row.account, address: row.address,
                role: ShareParticipantRow.blockedRole, permission: SharePermission.none.number,
                status: AcceptanceStatus.removed.number, addedAt: now)
            rows.append(refused)
            change.written.append(refused)
        }
    }
}

extension ParticipantEdits.Change {
    /// Notes the participants that have access after the change, and had none before.
    mutating func noteGains(_ rows: [ShareParticipantRow], before share: ShareRow) {
        let former = Set(rows.filter { $0.isParticipant && $0.permission(in: share) != .none }.map(\.id))
        gains = Set(
            written.filter {
                $0.isParticipant && !$0.joinedByURL && $0.permission(in: self.share) != .none && !former.contains($0.id)
            }.map(\.id))
        if self.share.openPermission != .none, share.openPermission == .none {
            gains.insert(StoredParticipants.everyone)
        }
    }
}

extension ParticipantEdits.Wish {
    /// Whether the wish invites the account of a row that joined by the public URL. A participant added after the share was
    /// closed stays (`CKShare.publicPermission`, Apple's documentation).
    func invites(_ row: ShareParticipantRow) -> Bool {
        ParticipantRole(number: row.role) == .publicUser && dictionary.role != .publicUser
    }

    /// Whether a row belongs to the listed participant.
    /// - Parameter byID: whether the row's identifier tells that it does.
    func means(_ row: ShareParticipantRow, byID: Bool = true) -> Bool {
        if byID, let id = dictionary.participantID, id == row.id { return true }
        if let account { return row.isOf(account) }
        return !address.isEmpty && InvitationAddress.isSame(row.address, address)
    }
}
