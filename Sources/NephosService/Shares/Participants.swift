import NephosStorage
import NephosWire

/// Decides how a save changes a share's participants. The client's list is a request, which is compared with the stored
/// rows. The list can invite and remove participants, and change permissions and the roles of private users.
/// Acceptance, the owner, identifiers and dates can only be changed by the service.
struct Participants {
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
        for wish in wishes {
            if wish.dictionary.role == .owner || wish.account?.id == owner { continue }
            let index = rows.firstIndex { $0.isParticipant && wish.means($0) }
            guard let index else {
                named.insert(try invite(wish, &rows, &change))
                continue
            }
            named.insert(rows[index].id)
            let updated = try update(rows[index], wish)
            if updated != rows[index] {
                rows[index] = updated
                change.written.append(updated)
            }
        }
        for row in rows where row.isParticipant && !named.contains(row.id) && !editor.isOwn(row) {
            remove(row, &rows, &change)
        }
    }

    private func update(_ row: ShareParticipantRow, _ wish: Wish) throws(ServiceError) -> ShareParticipantRow {
        var updated = row
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
            share: share.id, id: makeID(), account: wish.account?.id ?? 0, address: wish.address,
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

extension Participants.Wish {
    /// Whether a row belongs to the listed participant.
    func means(_ row: ShareParticipantRow) -> Bool {
        if let id = dictionary.participantID, id == row.id { return true }
        if let account { return row.isOf(account) }
        return !address.isEmpty && row.address == address
    }
}
