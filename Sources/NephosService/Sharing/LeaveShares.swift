import NephosStorage
import NephosWire

/// The deletion of a zone in the shared database: the caller leaves everything that is shared with it there, and nobody else
/// loses anything (`CKDatabase.deleteRecordZone`, Apple's documentation).
struct LeaveShares {
    let caller: Caller
    let environment: ServiceEnvironment
    let indexes: IndexWriter
    let notifier: Notifier

    /// - Returns: whether there are subscribers to notify.
    func leave(_ zone: SharedZone, in transaction: any StorageTransaction) throws -> Bool {
        let account = try caller.requireAccount()
        let changes = notifier.changes(in: zone.zone.key)
        let sharedChanges = SharedChanges(notifier.watched)
        let merge = FieldMerge(zone: zone.zone.key, now: environment.now(), account: account.id)
        for participation in zone.participations {
            let share = participation.share
            guard let row = try transaction.participant(share: share.id, account: account.id),
                let record = try transaction.record(zone: share.zone, named: share.name)
            else { continue }
            let sequence = try ShareMembers.touch(record, merge, indexes, changes, sharedChanges, in: transaction)
            try ShareMembers.remove(row, from: share, at: sequence, sharedChanges, in: transaction)
            try GroupState.note(share, endsAccess: true, in: transaction)
        }
        try transaction.noteChange(zone: zone.zone.key)
        _ = try sharedChanges.leaveJobs(zone: zone.zone.key, by: caller.origin, in: transaction)
        return try notifier.notify(of: changes, in: zone.zone, by: caller.origin, transaction)
    }
}
