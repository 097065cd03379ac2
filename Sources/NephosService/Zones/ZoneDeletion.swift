import NephosStorage
import NephosWire

/// Takes a zone away. It and its records are out of reach at once; the rows go in the background.
enum ZoneDeletion {
    static func delete(
        _ zone: ZoneRow, _ reason: ZoneDeletionReason, _ environment: ServiceEnvironment,
        in transaction: StorageTransaction
    ) throws {
        // With a zone go the subscriptions to it (CloudKit Web Services, zones/modify).
        try transaction.removeSubscriptions(zone: zone.key)
        try transaction.markZoneDeleted(
            zone.key, sequence: try transaction.nextSequence(), at: environment.now(), reason: number(reason))
        try transaction.insert(ShareNotification(about: .zone, origin: nil).job(zone.key))
        try transaction.insert(JobRow(kind: BackgroundJob.purgeZone.rawValue, zone: zone.key, subject: ""))
    }

    /// Why a deleted zone is gone.
    static func reason(of zone: ZoneRow) -> ZoneDeletionReason {
        ZoneDeletionReason.allCases.first { number($0) == zone.deletionReason } ?? .deleted
    }

    private static func number(_ reason: ZoneDeletionReason) -> Int64 {
        switch reason {
        case .deleted: 0
        case .purged: 1
        case .encryptedDataReset: 2
        }
    }
}

/// What a user does to an app's data without the app: removes it in the settings of iCloud, or resets what is encrypted
/// end to end (`recordZoneWithIDWasPurgedBlock`, `recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock`, Apple's
/// documentation).
struct RemoveZones {
    var zoneNames: [String]?
    var reason: ZoneDeletionReason
    var caller: Caller
    var environment: ServiceEnvironment

    /// - Returns: the names of the zones that are gone.
    func apply(
        _ notifier: Notifier, in transaction: StorageTransaction
    ) throws -> (names: [String], leftEvents: Bool) {
        guard caller.scope == .private, let owner = caller.owner else {
            throw ServiceError.badDatabase("zones can be removed from the private database only")
        }
        let zones = try transaction.zones(owner: owner).filter { zone in
            !ZoneRules.isDefault(zone.name) && zoneNames?.contains(zone.name) ?? true
        }
        if let missing = zoneNames?.first(where: { name in !zones.contains { $0.name == name } }) {
            throw ServiceError.zoneNotFound(missing)
        }
        var leftEvents = false
        for zone in zones {
            if try notifier.notify(ofDeleted: zone, by: nil, transaction) { leftEvents = true }
            try ZoneDeletion.delete(zone, reason, environment, in: transaction)
        }
        return (zones.map(\.name), leftEvents)
    }
}
