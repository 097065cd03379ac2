import NephosStorage
import NephosWire

/// Inserts change events for the fan-out (`NotificationFanOut`) in the transaction that makes the change. So a crash
/// loses no event, and no writer waits for subscribers, however many they are.
struct Notifier: Sendable {
    let watched: SubscriptionIndex

    /// Collects the changes of a zone's records; nil if the zone's database has no subscriber.
    func changes(in zone: ZoneKey) -> RecordChanges? {
        watched.types(in: zone.owner).map { RecordChanges(watchedTypes: $0) }
    }

    /// Inserts change events for the changes of a zone's records.
    /// - Returns: whether events were inserted, so that subscribers must be notified.
    func notify(
        of changes: RecordChanges?, in zone: ZoneRow, by origin: ChangeOrigin?, _ transaction: StorageTransaction
    ) throws -> Bool {
        guard let changes, changes.areTold else { return false }
        for body in ChangeEvent.bodies(of: changes.noted) { try leave(body, zone, origin, transaction) }
        return true
    }

    /// Inserts a change event for a new zone.
    func notify(ofNew zone: ZoneRow, by origin: ChangeOrigin?, _ transaction: StorageTransaction) throws -> Bool {
        guard watched.types(in: zone.key.owner)?.contains("") ?? false else { return false }
        try leave(ChangeEvent.zone(former: []).body, zone, origin, transaction)
        return true
    }

    /// Inserts a change event for a zone that is about to be deleted with its subscriptions.
    func notify(
        ofDeleted zone: ZoneRow, by origin: ChangeOrigin?, _ transaction: StorageTransaction
    ) throws -> Bool {
        guard watched.types(in: zone.key.owner)?.contains("") ?? false else { return false }
        let account = zone.key.owner.rawValue
        let former = try transaction.subscriptions(owner: zone.key.owner, account: account).filter {
            $0.zone == zone.key.id && $0.recordType.isEmpty
        }
        try leave(ChangeEvent.zone(former: former).body, zone, origin, transaction)
        return true
    }

    /// Inserts a change event for an account's shared database: another account's zone changed, or is no longer shared.
    func notify(
        account: Int64, ofSharedZone zone: ZoneRow, by origin: ChangeOrigin?, _ transaction: StorageTransaction
    ) throws -> Bool {
        let owner = OwnerID(rawValue: -account)
        guard watched.types(in: owner)?.contains("") ?? false else { return false }
        var shared = zone
        shared.key = ZoneKey(owner: owner, id: zone.key.id)
        try leave(ChangeEvent.shared(by: zone.key.owner).body, shared, origin, transaction)
        return true
    }

    private func leave(
        _ body: [UInt8], _ zone: ZoneRow, _ origin: ChangeOrigin?, _ transaction: StorageTransaction
    ) throws {
        try transaction.insert(
            ChangeEventRow(
                zone: zone.key, zoneName: zone.name, sequence: try transaction.nextSequence(),
                originAccount: origin?.account ?? 0, originClient: origin?.clientID ?? "", body: body))
    }
}
