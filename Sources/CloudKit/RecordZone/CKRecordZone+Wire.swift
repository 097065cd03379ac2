package import NephosWire
import Synchronization

extension CKRecordZone {
    /// Creates a zone from the service's answer, with its capabilities.
    /// - Parameter zoneID: the zone's ID in this library's form; nil to derive the ID from the service's answer.
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

    /// Marks the zone as saved, which determines its capabilities and its encryption scope. A zone that existed before
    /// the save keeps its encryption scope.
    package func absorbSave(_ zone: ZoneDictionary? = nil) {
        let scope = zone?.encryptionScope ?? wireScope
        state.withLock { state in
            state.capabilities = Self.capabilities(of: zoneID, scope)
            state.encryptionScope = EncryptionScope(scope)
        }
    }

    /// Returns the capabilities of a zone. The default zone has none. A zone with one key for all records can be shared
    /// only as a whole.
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
