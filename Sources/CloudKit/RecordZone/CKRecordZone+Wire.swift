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
            state: State(
                capabilities: Self.capabilities(of: zoneID, wire.encryptionScope), share: share,
                encryptionScope: EncryptionScope(wire.encryptionScope), syncToken: wire.syncToken))
    }

    var wireScope: ZoneEncryptionScope { encryptionScope == .perZone ? .perZone : .perRecord }

    /// Notes that the service has the zone: what it can do is known from now on, and how it encrypts, which a zone that
    /// was there before does as it did.
    package func absorbSave(_ zone: ZoneDictionary? = nil) {
        let scope = zone?.encryptionScope ?? wireScope
        state.withLock { state in
            state.capabilities = Self.capabilities(of: zoneID, scope)
            state.encryptionScope = EncryptionScope(scope)
        }
    }

    /// The default zone of a database can do nothing that a custom zone can. A zone with one key for all records is
    /// shared as a whole only.
    private static func capabilities(of zoneID: CKRecordZone.ID, _ scope: ZoneEncryptionScope) -> Capabilities {
        if zoneID.zoneName == CKRecordZone.ID.defaultZoneName { return [] }
        let all: Capabilities = [.fetchChanges, .atomic, .sharing, .zoneWideSharing]
        return scope == .perZone ? all.subtracting(.sharing) : all
    }
}

extension CKRecordZone.EncryptionScope {
    init(_ scope: ZoneEncryptionScope) {
        self =
            switch scope {
            case .perRecord: .perRecord
            case .perZone: .perZone
            }
    }
}
