import NephosStorage
import NephosWire

/// The departure of an account from shares of a zone. The account's row is removed, and the other participants get the
/// share with a new change tag.
struct ShareDeparture {
    let account: Int64
    /// The client that leaves; nil if the account was deleted.
    let origin: ChangeOrigin?
    let environment: ServiceEnvironment
    let indexes: IndexWriter
    let notifier: Notifier

    /// - Parameter parts: the shares that the account leaves, each with the account's row in the share.
    /// - Returns: whether change events were stored, so that subscribers must be notified.
    func leave(
        _ parts: [(share: ShareRow, row: ShareParticipantRow)], of zone: ZoneRow, in transaction: StorageTransaction
    ) throws -> Bool {
        let changes = notifier.changes(in: zone.key)
        let sharedChanges = SharedChanges(notifier.watched)
        let merge = FieldMerge(zone: zone.key, now: environment.now(), account: account)
        for (share, row) in parts {
            guard let record = try transaction.record(zone: share.zone, named: share.name), !record.isDeleted else {
                continue
            }
            let sequence = try ShareMembers.touch(record, merge, indexes, changes, sharedChanges, in: transaction)
            try FormerParticipants.note([row], of: share, in: transaction)
            try ShareMembers.remove(row, from: share, at: sequence, sharedChanges, in: transaction)
            try GroupState.note(share, endsAccess: row.isParticipant, in: transaction)
            try OpenInvitations.close(share, in: transaction)
        }
        try transaction.noteChange(zone: zone.key)
        _ = try sharedChanges.leaveJobs(zone: zone.key, by: origin, in: transaction)
        return try notifier.notify(of: changes, in: zone, by: origin, transaction)
    }
}
