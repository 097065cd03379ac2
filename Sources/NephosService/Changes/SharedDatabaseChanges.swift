import NephosStorage
import NephosWire

/// The changed, added and removed zones of an account's shared database. The cost is proportional to the number of the
/// account's memberships.
struct SharedDatabaseChanges {
    let account: AccountRow
    let reader: StorageReader

    struct Zone {
        /// The change sequence of the zone's last change, addition or removal.
        var sequence: Int64
        var zoneID: ZoneIDDictionary
        var isDeleted = false
        var reason = ZoneDeletionReason.deleted
    }

    /// All zones in which the account participates or participated, in the order of their last changes, and the change
    /// sequence up to which they are complete.
    func zones() throws -> (zones: [Zone], end: Int64) {
        let memberships = Dictionary(grouping: try reader.memberships(account: account.id)) { $0.zone }
        let owners = Set(memberships.keys.map(\.owner))
        let end = owners.count > 1 ? try reader.settledSequence(of: owners) : .max
        var zones: [Zone] = []
        for (key, memberships) in memberships {
            guard let row = try reader.zone(key), let owner = try reader.account(id: key.owner.rawValue) else {
                continue
            }
            let zoneID = ZoneIDDictionary(zoneName: row.name, ownerRecordName: owner.userRecordName)
            let view = SharedDatabaseView(account: account, reader: reader)
            let left = memberships.reduce(0) { max($0, $1.left) }
            if !row.isDeleted, let zone = try view.zone(named: row.name, owner: owner.userRecordName) {
                let change = max(left, try SharedZoneFeed(zone: zone, reader: reader).lastChange())
                zones.append(Zone(sequence: change, zoneID: zoneID))
            } else if row.isDeleted && memberships.contains(where: { $0.left == 0 }) {
                zones.append(
                    Zone(
                        sequence: row.sequence, zoneID: zoneID, isDeleted: true,
                        reason: ZoneDeletion.reason(of: row)))
            } else if owner.isDeleted, let zone = try view.sharedZone(row, owner, memberships) {
                // `AccountErasure` deletes the zones of a deleted owner one by one, each with its own change sequence.
                let change = max(left, try SharedZoneFeed(zone: zone, reader: reader).lastChange())
                zones.append(Zone(sequence: change, zoneID: zoneID, isDeleted: true))
            } else {
                zones.append(Zone(sequence: left, zoneID: zoneID, isDeleted: true))
            }
        }
        return (Self.newest(zones), end)
    }

    /// If a deleted zone and a new zone have the same name, keeps only the newer one.
    private static func newest(_ zones: [Zone]) -> [Zone] {
        var newest: [ZoneIDDictionary: Zone] = [:]
        for zone in zones {
            guard let known = newest[zone.zoneID] else {
                newest[zone.zoneID] = zone
                continue
            }
            let isNewer = zone.isDeleted == known.isDeleted ? zone.sequence > known.sequence : known.isDeleted
            if isNewer { newest[zone.zoneID] = zone }
        }
        return newest.values.sorted { $0.sequence < $1.sequence }
    }
}
