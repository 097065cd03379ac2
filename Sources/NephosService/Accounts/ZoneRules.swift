import NephosWire

/// A zone's capabilities, which follow from its name: custom zones are atomic and have a change feed, the default zone
/// has neither (`CKRecordZone.Capabilities`, Apple's documentation).
enum ZoneRules {
    static func isDefault(_ zoneName: String) -> Bool { zoneName == ZoneIDDictionary.defaultZoneName }
    static func isAtomic(_ zoneName: String) -> Bool { !isDefault(zoneName) }
    static func hasChangeFeed(_ zoneName: String) -> Bool { !isDefault(zoneName) }
    /// Whether a deletion cascades to owned records at once instead of in the background
    /// (`CKRecord.ReferenceAction.deleteSelf`: "asynchronous in the default zone and immediate in a custom zone").
    static func cascadesImmediately(_ zoneName: String) -> Bool { !isDefault(zoneName) }

    /// Records of the default zone cannot be shared (`CKRecordZone.Capabilities.sharing`, Apple's documentation).
    static func checkCanBeShared(_ zoneName: String) throws(ServiceError) {
        if isDefault(zoneName) { throw .invalid("the default zone cannot be shared; share records of a custom zone") }
    }

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
