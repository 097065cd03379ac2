import NephosStorage
import NephosWire

/// The address of a zone in a request; the database may be unable to have such a zone.
struct ZoneAddress: Hashable {
    var zoneName: String
    /// False if the zone ID names another owner than the database's.
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

    /// False for names that no store accepts.
    var canExist: Bool { zoneName.isStorable && sharedBy?.isStorable ?? true }

    /// Whether a reference's zone ID names this zone.
    func isNamed(by zoneID: ZoneIDDictionary, _ user: CurrentUser) -> Bool {
        if let sharedBy { return zoneID.zoneName.hasSameBytes(as: zoneName) && zoneID.ownerRecordName == sharedBy }
        return zoneID.zoneName.hasSameBytes(as: zoneName) && (!isOwn || user.isOwner(zoneID.ownerRecordName))
    }
}
