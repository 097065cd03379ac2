import NephosStorage
import NephosWire

/// The zone that a request addresses. Some addresses name a zone that the request's database cannot contain.
struct ZoneAddress: Hashable {
    var zoneName: String
    /// Whether the zone belongs to the owner of the request's database; always false in the shared database.
    var isOwn: Bool
    /// The user record name of the owner of a zone in the shared database; nil in the other databases.
    var sharedBy: String?

    init(_ zoneID: ZoneIDDictionary?, scope: DatabaseScope, _ user: CurrentUser) {
        let zoneID = zoneID ?? .defaultZone
        zoneName = zoneID.zoneName
        isOwn = scope != .shared && (scope == .public || user.isOwner(zoneID.ownerRecordName))
        sharedBy = scope == .shared ? zoneID.ownerRecordName : nil
    }

    static func == (left: ZoneAddress, right: ZoneAddress) -> Bool {
        left.isOwn == right.isOwn && left.sharedBy == right.sharedBy && left.zoneName.hasSameBytes(as: right.zoneName)
    }

    /// Whether a store accepts the names of the zone and its owner.
    var canExist: Bool { zoneName.isStorable && sharedBy?.isStorable ?? true }

    /// Whether the zone ID of a reference names this zone.
    func isNamed(by zoneID: ZoneIDDictionary, _ user: CurrentUser) -> Bool {
        if let sharedBy { return zoneID.zoneName.hasSameBytes(as: zoneName) && zoneID.ownerRecordName == sharedBy }
        return zoneID.zoneName.hasSameBytes(as: zoneName) && (!isOwn || user.isOwner(zoneID.ownerRecordName))
    }
}
