import NephosStorage
import NephosWire

/// The deletion of a zone in the shared database. The caller leaves all its shares in the zone; other participants are
/// not affected (`CKDatabase.deleteRecordZone`, Apple's documentation).
struct LeaveShares {
    let caller: Caller
    let environment: ServiceEnvironment
    let indexes: IndexWriter
    let notifier: Notifier

    /// Removes the caller from all its shares in the zone.
    /// - Returns: whether change events were stored, so that subscribers must be notified.
    func leave(_ zone: SharedZone, in transaction: StorageTransaction) throws -> Bool {
        let account = try caller.requireAccount()
        let parts = try zone.participations.compactMap { participation in
            try transaction.participant(share: participation.share.id, account: account.id).map {
                (participation.share, $0)
            }
        }
        let departure = ShareDeparture(
            account: account.id, origin: caller.origin, environment: environment, indexes: indexes, notifier: notifier)
        return try departure.leave(parts, of: zone.zone, in: transaction)
    }
}
