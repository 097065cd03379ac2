import NephosCrypto
import NephosStorage
import NephosWire

/// Checks encrypted values as far as the service can (`CKRecord.encryptedValues`, Apple's documentation;
/// Documentation/Encryption.md). A value must arrive encrypted, in the known format, under a record key that the
/// record's readers find stored with the record. The group key that must wrap that record key is known only after the
/// batch's shares are (`KeyPlan`).
struct EncryptionAdmission {
    let zone: ZoneKey
    let scope: DatabaseScope
    let reader: StorageReader

    /// - Returns: the record keys that the save brings and uses; nil if it has no encrypted values and brings no keys.
    func admit(_ operation: ValidOperation) throws -> RecordKeyUse? {
        var used: [String: SealedFieldValue] = [:]
        for entry in operation.fields.entries where entry.field.isEncrypted {
            guard let value = entry.field.value else { continue }
            used[entry.name] = try sealed(value, field: entry.name, of: operation.recordName)
        }
        var seals: [(field: String, seal: AssetSeal)] = []
        for entry in operation.fields.entries {
            for asset in entry.field.value?.assets ?? [] {
                if let seal = asset.seal { seals.append((entry.name, seal)) }
            }
        }
        if used.isEmpty && seals.isEmpty && operation.keys.isEmpty { return nil }
        if scope == .public {
            throw ServiceError.badDatabase(
                "the public database has no encrypted values: save the fields in the clear, or the record in the private"
                    + " database")
        }
        if operation.keys.count > Limits.keysPerRecord {
            throw ServiceError.limitExceeded(
                "record '\(operation.recordName)' brings \(operation.keys.count) keys of encrypted values; at most"
                    + " \(Limits.keysPerRecord) are allowed")
        }
        for key in operation.keys where !key.hasForm || key.isInherited || key.isSpent {
            throw ServiceError.invalid("record '\(operation.recordName)': a key has not the form of one")
        }
        return RecordKeyUse(
            stored: try reader.keys(zone: zone, kind: .recordKey, subject: operation.recordName),
            brought: operation.keys, used: used, seals: seals)
    }

    private func sealed(_ value: FieldValue, field: String, of name: String) throws(ServiceError) -> SealedFieldValue {
        guard case .sealed(let sealed) = value else {
            // Apple's service encrypts values that are sent in the clear. This service cannot encrypt them, and must
            // not see them.
            throw .invalid(
                "field '\(field)' of record '\(name)' is sent as encrypted, and the value is not: clients encrypt it"
                    + " (CKRecord.encryptedValues), or send back what they got")
        }
        guard sealed.bytes.count >= Limits.sealedValueOverhead, sealed.bytes[0] == Self.format else {
            throw .invalid("field '\(field)' of record '\(name)' has not the form of an encrypted value")
        }
        return sealed
    }

    /// The first byte of an encrypted value, which identifies the format.
    static let format: UInt8 = 1
}

/// The record keys that a save brings and uses.
struct RecordKeyUse {
    /// The keys stored for the record before the save.
    var stored: [KeyRow]
    var brought: [WrappedRecordKey]
    /// The encrypted values of the save, by field.
    var used: [String: SealedFieldValue]
    /// The wrapped keys of the asset files in the save, each with its field.
    var seals: [(field: String, seal: AssetSeal)]
}

extension AssetSeal {
    /// The ID of the record key under which the file's key is wrapped; nil if the seal is malformed.
    var keyID: [UInt8]? {
        guard case .wrapped(let bytes) = self, bytes.count == Limits.wrappedAssetKeySize else { return nil }
        return Array(bytes[1...WrappedRecordKey.idSize])
    }
}

extension SealedFieldValue {
    /// The ID of the record key with which the value is sealed.
    var keyID: [UInt8] { Array(bytes[1...WrappedRecordKey.idSize]) }
}

extension WrappedRecordKey {
    var hasForm: Bool {
        id.count == Self.idSize && wrapped.count == Limits.wrappedRecordKeySize
            && (groupKeyID.isEmpty || groupKeyID.count == GroupKeyID.size)
    }

    /// The stored form of the key. The row's ID includes the group, because a key is wrapped once for each group.
    func row(zone: ZoneKey, recordName: String) -> KeyRow {
        var stored = self
        stored.groupKeyID = []
        stored.isSpent = false
        return KeyRow(
            zone: zone, kind: .recordKey, subject: recordName, id: id + Array(group.utf8), body: stored.encoded())
    }
}

extension KeyRow {
    /// The big-endian bytes of a number as a row's ID, so that IDs sort like their numbers.
    static func id(_ number: Int64) -> [UInt8] {
        stride(from: Int64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
