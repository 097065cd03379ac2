import NephosCrypto
import NephosStorage
import NephosWire

/// The zones whose own key seals the values of their records (`CKRecordZone.EncryptionScope.perZone`, Apple's
/// documentation). This is set when a zone is created, and immutable. An account that could read one record could read
/// all of them, so such a zone is shared as a whole or not at all.
enum PerZone {
    static func isSet(_ zone: ZoneKey, _ reader: StorageReader) throws -> Bool {
        try !reader.keys(zone: zone, kind: .perZone, subject: "").isEmpty
    }

    static func set(_ zone: ZoneKey, in transaction: StorageTransaction) throws {
        try transaction.put(KeyRow(zone: zone, kind: .perZone, id: [], body: [1]))
    }

    static func scope(of zone: ZoneKey, _ reader: StorageReader) throws -> ZoneEncryptionScope {
        try isSet(zone, reader) ? .perZone : .perRecord
    }

    /// The IDs by which sealed values refer to the versions of the zone's key.
    static func keyIDs(_ zone: ZoneKey, _ reader: StorageReader) throws -> [[UInt8]] {
        try StoredGroupKeys.all(of: "", zone, reader).map { GroupKeyID.of(box: $0.box) }
    }
}
