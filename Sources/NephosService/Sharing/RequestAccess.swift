import NephosStorage
import NephosWire

/// Requests for access to shares (`CKShareRequestAccessOperation`, Apple's documentation). There is one answer whatever
/// exists: only who is invited already, and could learn of the share, is told so. A request of an account that is blocked
/// gets nowhere, nor does one more than a share holds.
struct RequestAccess {
    let resolve: ResolveShare
    let environment: ServiceEnvironment
    let indexes: IndexWriter
    let notifier: Notifier
    let transaction: any StorageTransaction

    private var account: AccountRow { resolve.account }

    static let alreadyInvited = ServiceError(
        .badRequest, .participantAlreadyInvited, "The account is among the share's participants already")

    /// - Returns: whether there are subscribers to notify.
    func request(_ guid: String) throws -> Bool {
        guard let share = try transaction.share(guid: guid), share.isLive, let zone = try transaction.zone(share.zone),
            !zone.isDeleted
        else { return false }
        let rows = try transaction.participants(share: share.id)
        if share.zone.owner == account.owner || rows.contains(where: { $0.isParticipant && $0.isOf(account) }) {
            throw Self.alreadyInvited
        }
        let isKnown = rows.contains { !$0.isParticipant && $0.account == account.id }
        guard share.allowsRequests, !isKnown, rows.filter(\.isRequester).count < Limits.shareRequesters,
            let record = try transaction.record(zone: share.zone, named: share.name)
        else { return false }
        try transaction.put(
            ShareParticipantRow(
                share: share.id, id: environment.makeUUID(), account: account.id, address: account.name,
                role: ShareParticipantRow.requesterRole, permission: SharePermission.none.number,
                status: AcceptanceStatus.unknown.number, addedAt: environment.now()))
        let changes = notifier.changes(in: share.zone)
        let sharedChanges = SharedChanges(notifier.watched)
        let merge = FieldMerge(zone: share.zone, now: environment.now(), account: record.modifiedBy)
        _ = try ShareMembers.touch(record, merge, indexes, changes, sharedChanges, in: transaction)
        try transaction.noteChange(zone: share.zone)
        _ = try sharedChanges.leaveJobs(zone: share.zone, by: resolve.caller.origin, in: transaction)
        return try notifier.notify(of: changes, in: zone, by: resolve.caller.origin, transaction)
    }
}
