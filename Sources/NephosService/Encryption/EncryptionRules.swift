import NephosStorage
import NephosWire

/// What the service can know of encrypted values, and checks (`CKRecord.encryptedValues`, Apple's documentation;
/// Documentation/Encryption.md): they come encrypted, in the form that there is, and each with a key that the record's
/// readers find beside it.
struct EncryptionRules {
    let zone: ZoneKey
    let scope: DatabaseScope
    let reader: any StorageReader

    /// - Returns: the rows of the keys that the save brings along.
    func admit(_ operation: ValidOperation) throws -> [KeyRow] {
        var used: Set<[UInt8]> = []
        for entry in operation.fields.entries where entry.field.isEncrypted {
            guard let value = entry.field.value else { continue }
            if scope == .shared { throw Self.notShared(operation.recordName) }
            used.insert(try keyID(of: value, field: entry.name, of: operation.recordName))
        }
        if used.isEmpty && operation.keys.isEmpty { return [] }
        if scope != .private { throw Self.notShared(operation.recordName) }
        let stored = try reader.keys(zone: zone, kind: .recordKey, subject: operation.recordName)
        let brought = try rows(operation, stored)
        let known = Set((stored + brought).map(\.id))
        guard used.isSubset(of: known) else {
            throw Self.needsKeys("record '\(operation.recordName)' has a value whose key is not among the record's")
        }
        return brought
    }

    /// The ID of the key that sealed a value.
    private func keyID(of value: FieldValue, field: String, of name: String) throws(ServiceError) -> [UInt8] {
        guard case .sealed(let sealed) = value else {
            // Apple's service encrypts what comes in the clear. This one could not, and must not see it.
            throw .invalid(
                "field '\(field)' of record '\(name)' is encrypted, and the value is not: clients encrypt it"
                    + " (CKRecord.encryptedValues), or send back what they got")
        }
        let bytes = sealed.bytes
        guard bytes.count >= Limits.sealedValueOverhead, bytes[0] == Self.format else {
            throw .invalid("field '\(field)' of record '\(name)' has not the form of an encrypted value")
        }
        return Array(bytes[1...WrappedRecordKey.idSize])
    }

    /// The first byte of an encrypted value.
    private static let format: UInt8 = 1

    private func rows(_ operation: ValidOperation, _ stored: [KeyRow]) throws -> [KeyRow] {
        let name = operation.recordName
        guard stored.count + operation.keys.count <= Limits.keysPerRecord else {
            throw ServiceError.limitExceeded(
                "record '\(name)' would have more than \(Limits.keysPerRecord) keys of encrypted values")
        }
        if operation.keys.isEmpty { return [] }
        let current = try GroupKeys.currentVersion(zone, reader)
        return try operation.keys.map { key throws(ServiceError) in
            guard key.id.count == WrappedRecordKey.idSize, key.wrapped.count == Limits.wrappedRecordKeySize else {
                throw .invalid("record '\(name)': a key has not the form of one")
            }
            guard key.version == current, current > 0 else {
                throw Self.needsKeys(
                    "record '\(name)': a key is wrapped under version \(key.version) of the zone's key, which is now"
                        + " \(current)")
            }
            let row = KeyRow(zone: zone, kind: .recordKey, subject: name, id: key.id, body: key.encoded())
            if let known = stored.first(where: { $0.id == key.id }), known != row {
                throw Self.needsKeys("record '\(name)' has another key of the ID already")
            }
            return row
        }
    }

    private static func notShared(_ name: String) -> ServiceError {
        ServiceError(
            .accessDenied, .permissionFailure,
            "record '\(name)': only the owner can save values of encrypted fields; they are not shared yet")
    }

    private static func needsKeys(_ reason: String) -> ServiceError {
        var error = ServiceError(.badRequest, .serverRejectedRequest, reason)
        error.needsKeys = true
        return error
    }
}

/// A zone's keys.
enum GroupKeys {
    /// 0 where the zone has none.
    static func currentVersion(_ zone: ZoneKey, _ reader: any StorageReader) throws -> Int64 {
        try all(zone, reader).last?.version ?? 0
    }

    /// By version.
    static func all(_ zone: ZoneKey, _ reader: any StorageReader) throws -> [WrappedGroupKey] {
        try reader.keys(zone: zone, kind: .groupKey, subject: "").map { try WrappedGroupKey(decoding: $0.body) }
    }

    static func row(_ key: WrappedGroupKey, zone: ZoneKey) -> KeyRow {
        KeyRow(zone: zone, kind: .groupKey, id: KeyRow.id(key.version), body: key.encoded())
    }
}

extension KeyRow {
    /// A number as an ID, in whose order the numbers are.
    static func id(_ number: Int64) -> [UInt8] {
        stride(from: Int64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
