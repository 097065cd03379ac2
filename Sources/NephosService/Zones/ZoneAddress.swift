import NephosStorage
import NephosWire

/// A zone of the database that a request is about, or one that the database cannot have.
struct ZoneAddress: Hashable {
    var zoneName: String
    /// False where the zone ID names another owner than the database's.
    var isOwn: Bool
    /// The user record name of the owner in whose shared zone the caller is interested; nil in the other databases.
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

    /// False for names that no store holds.
    var canExist: Bool { zoneName.isStorable && sharedBy?.isStorable ?? true }

    /// Whether a reference's zone ID names this zone.
    func isNamed(by zoneID: ZoneIDDictionary, _ user: CurrentUser) -> Bool {
        if let sharedBy { return zoneID.zoneName.hasSameBytes(as: zoneName) && zoneID.ownerRecordName == sharedBy }
        return zoneID.zoneName.hasSameBytes(as: zoneName) && (!isOwn || user.isOwner(zoneID.ownerRecordName))
    }
}

/// What a zone can do follows from its name: custom zones are atomic and keep a change feed, the default zone does
/// neither (`CKRecordZone.Capabilities`, Apple's documentation).
enum ZoneRules {
    static func isDefault(_ zoneName: String) -> Bool { zoneName == ZoneIDDictionary.defaultZoneName }
    static func isAtomic(_ zoneName: String) -> Bool { !isDefault(zoneName) }
    static func hasChangeFeed(_ zoneName: String) -> Bool { !isDefault(zoneName) }
    /// Whether a deletion takes its owned records along at once, or leaves that to the background
    /// (`CKRecord.ReferenceAction.deleteSelf`: "asynchronous in the default zone and immediate in a custom zone").
    static func cascadesImmediately(_ zoneName: String) -> Bool { !isDefault(zoneName) }

    static func checkName(_ name: String) throws(ServiceError) {
        let bytes = name.utf8
        if bytes.isEmpty { throw .invalid("zoneName must not be empty") }
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), bytes.count <= Limits.zoneNameLength else {
            throw .invalid(
                "zoneName '\(Identifier.excerpt(name))' must hold 1 to \(Limits.zoneNameLength) printable ASCII characters"
            )
        }
        if bytes.first == UInt8(ascii: "_") {
            throw .invalid("zoneName '\(Identifier.excerpt(name))' must not begin with an underscore")
        }
    }
}
