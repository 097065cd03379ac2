/// A zone's identifier: its name and its owner's user record name. A nil owner means the caller (CloudKit Web Services,
/// Zone ID Dictionary).
package struct ZoneIDDictionary: Hashable, Sendable {
    package static let defaultZoneName = "_defaultZone"
    package static let defaultZone = ZoneIDDictionary(zoneName: defaultZoneName)

    package var zoneName: String
    package var ownerRecordName: String?

    package init(zoneName: String, ownerRecordName: String? = nil) {
        self.zoneName = zoneName
        self.ownerRecordName = ownerRecordName
    }

    /// Compares the names' bytes, as stores do.
    package static func == (left: ZoneIDDictionary, right: ZoneIDDictionary) -> Bool {
        left.zoneName.hasSameBytes(as: right.zoneName)
            && left.ownerRecordName.map(ExactString.init) == right.ownerRecordName.map(ExactString.init)
    }
}

/// A zone in responses.
package struct ZoneDictionary: Hashable, Sendable {
    package var zoneID: ZoneIDDictionary
    package var syncToken: String?
    package var atomic: Bool
    package var deleted: Bool
    /// Our addition, `nephosDeletionReason` on the wire: the reason why the zone was deleted. Omitted on the wire for
    /// `deleted`.
    package var deletionReason: ZoneDeletionReason
    /// Our addition, `nephosShare` on the wire: the record name of the whole zone's share; nil if there is none.
    package var share: String?
    /// Our addition, `nephosEncryptionScope` on the wire: the scope of the zone's encryption keys.
    package var encryptionScope = ZoneEncryptionScope.perRecord

    package init(
        zoneID: ZoneIDDictionary, syncToken: String? = nil, atomic: Bool, deleted: Bool = false,
        deletionReason: ZoneDeletionReason = .deleted
    ) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.atomic = atomic
        self.deleted = deleted
        self.deletionReason = deletionReason
    }
}

/// The scope of the keys for a zone's encrypted values: one key per record, or one key for the whole zone
/// (`CKRecordZone.EncryptionScope`, Apple's documentation).
package enum ZoneEncryptionScope: String, Hashable, Sendable, CaseIterable {
    case perRecord = "PER_RECORD"
    case perZone = "PER_ZONE"
}

/// The reason of a zone's deletion (`CKDatabase.DatabaseChange.Deletion.Reason`, Apple's documentation).
package enum ZoneDeletionReason: String, Hashable, Sendable, CaseIterable {
    /// The zone was deleted, for neither of the reasons below.
    case deleted = "DELETED"
    /// The user removed the app's data.
    case purged = "PURGED"
    /// The user reset the end-to-end encrypted data.
    case encryptedDataReset = "ENCRYPTED_DATA_RESET"
}

/// An element of a `zones` array of a response.
package enum ZoneResult: Hashable, Sendable {
    case zone(ZoneDictionary)
    case failure(ErrorDictionary)
}

package struct ZoneOperation: Hashable, Sendable {
    package enum OperationType: String, Hashable, Sendable {
        case create
        case delete
    }

    package var operationType: OperationType
    package var zoneID: ZoneIDDictionary
    /// The encryption scope of a new zone.
    package var encryptionScope: ZoneEncryptionScope

    package init(
        operationType: OperationType, zoneID: ZoneIDDictionary, encryptionScope: ZoneEncryptionScope = .perRecord
    ) {
        self.operationType = operationType
        self.zoneID = zoneID
        self.encryptionScope = encryptionScope
    }
}

/// `zones/modify` of CloudKit Web Services.
package struct ModifyZonesRequest: Hashable, Sendable {
    package var operations: [ZoneOperation]
    package init(operations: [ZoneOperation]) { self.operations = operations }
}

/// `zones/lookup` of CloudKit Web Services.
package struct LookupZonesRequest: Hashable, Sendable {
    package var zones: [ZoneIDDictionary]
    package init(zones: [ZoneIDDictionary]) { self.zones = zones }
}

/// The answer of `zones/list`, `zones/lookup` and `zones/modify`. Lookups and changes keep the request's order.
package struct ZonesResponse: Hashable, Sendable {
    package var zones: [ZoneResult]
    package init(zones: [ZoneResult]) { self.zones = zones }
}
