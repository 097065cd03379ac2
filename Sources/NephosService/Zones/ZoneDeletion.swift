import NephosStorage
import NephosWire

/// Deletes a zone. The zone and its records are unreachable at once; a background job purges the rows.
enum ZoneDeletion {
    static func delete(
        _ zone: ZoneRow, _ reason: ZoneDeletionReason, _ environment: ServiceEnvironment,
        in transaction: StorageTransaction
    ) throws {
        // The zone's subscriptions are deleted with it (CloudKit Web Services, zones/modify).
        try transaction.removeSubscriptions(zone: zone.key)
        try transaction.markZoneDeleted(
            zone.key, sequence: try transaction.nextSequence(), at: environment.now(), reason: number(reason))
        try transaction.insert(ShareNotification(about: .zone, origin: nil).job(zone.key))
        try transaction.insert(JobRow(kind: BackgroundJob.purgeZone.rawValue, zone: zone.key, subject: ""))
    }

    /// The reason for which a zone was deleted.
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

/// The actions of a user on an app's data outside the app: the user removes the data in the settings of iCloud, or
/// resets the end-to-end encrypted data (`recordZoneWithIDWasPurgedBlock`,
/// `recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock`, Apple's documentation).
struct RemoveZones {
    var zoneNames: [String]?
    var reason: ZoneDeletionReason
    var caller: Caller
    var environment: ServiceEnvironment

    /// Deletes the named custom zones, or all custom zones if `zoneNames` is nil.
    /// - Returns: the names of the deleted zones, and whether change events were stored.
    /// - Throws: `zoneNotFound` if a named zone does not exist.
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
