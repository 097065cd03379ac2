import NephosStorage
import NephosWire

/// Requests for access to shares (`CKShareRequestAccessOperation`, Apple's documentation). The response is the same
/// whether a share exists or not, except for an invitee, which may know of the share: it gets an error. A request of a
/// blocked account has no effect, and neither has a request beyond the limit of a share.
struct RequestAccess {
    let visit: ShareVisit

    private var account: AccountRow { visit.resolve.account }
    private var transaction: StorageTransaction { visit.transaction }

    static let alreadyInvited = ServiceError(
        .badRequest, .participantAlreadyInvited, "The account is among the share's participants already")

    func request(_ guid: String) throws {
        guard guid.isStorable, let share = try transaction.share(guid: guid), share.isLive,
            let zone = try transaction.zone(share.zone),
            !zone.isDeleted
        else { return }
        let rows = try transaction.participants(share: share.id)
        // A blocked account must learn nothing, even if it was invited later.
        if rows.contains(where: { $0.isBlocked && $0.account == account.id }) { return }
        if share.zone.owner == account.owner || rows.contains(where: { $0.isParticipant && $0.isOf(account) }) {
            throw Self.alreadyInvited
        }
        let isKnown = rows.contains { !$0.isParticipant && $0.account == account.id }
        guard share.allowsRequests, !isKnown, rows.filter(\.isRequester).count < Limits.shareRequesters,
            let record = try transaction.record(zone: share.zone, named: share.name)
        else { return }
        try transaction.put(
            ShareParticipantRow(
                share: share.id, id: visit.environment.makeUUID(), account: account.id, address: account.address,
                role: ShareParticipantRow.requesterRole, permission: SharePermission.none.number,
                status: AcceptanceStatus.unknown.number, addedAt: visit.environment.now()))
        try visit.touch(record, of: share, in: zone, by: record.modifiedBy) { _ in }
    }
}
