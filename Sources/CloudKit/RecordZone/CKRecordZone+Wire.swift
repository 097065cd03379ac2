package import NephosWire
import Synchronization

extension CKRecordZone {
    /// A zone that came from the service, with what it can do.
    /// - Parameter zoneID: its ID as our side spells it; nil is as the service does.
    package convenience init(wire: ZoneDictionary, zoneID: CKRecordZone.ID? = nil) {
        let zoneID = zoneID ?? CKRecordZone.ID(wire: wire.zoneID)
        let share = wire.share.map {
            CKRecord.Reference(recordID: CKRecord.ID(unchecked: $0, zoneID: zoneID), action: .none)
        }
        self.init(
            zoneID: zoneID,
            state: State(capabilities: Self.capabilities(of: zoneID), share: share, syncToken: wire.syncToken))
    }

    /// Notes that the service has the zone: what it can do is known from now on.
    package func absorbSave() {
        state.withLock { $0.capabilities = Self.capabilities(of: zoneID) }
    }

    /// The default zone of a database can do nothing that a custom zone can.
    private static func capabilities(of zoneID: CKRecordZone.ID) -> Capabilities {
        if zoneID.zoneName == CKRecordZone.ID.defaultZoneName { return [] }
        return [.fetchChanges, .atomic, .sharing, .zoneWideSharing]
    }
}
