package import NephosWire
import Synchronization

extension CKRecordZone {
    /// A zone that came from the service, with what it can do.
    package convenience init(wire: ZoneDictionary, currentUserRecordName: String? = nil) {
        let zoneID = CKRecordZone.ID(wire: wire.zoneID, currentUserRecordName: currentUserRecordName)
        self.init(zoneID: zoneID, state: State(capabilities: Self.capabilities(of: zoneID)))
    }

    /// Notes that the service has the zone: what it can do is known from now on.
    package func absorbSave() {
        state.withLock { $0.capabilities = Self.capabilities(of: zoneID) }
    }

    /// The default zone of a database can do nothing that a custom zone can.
    private static func capabilities(of zoneID: CKRecordZone.ID) -> Capabilities {
        zoneID.zoneName == CKRecordZone.ID.defaultZoneName
            ? [] : [.fetchChanges, .atomic, .sharing, .zoneWideSharing]
    }
}
