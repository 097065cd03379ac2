import NephosService
import NephosWire

extension FieldValue {
    /// A value in the form of an encrypted one, which nobody can open.
    static func sealed(_ type: FieldType, key: UInt8 = 7) -> FieldValue {
        .sealed(
            SealedFieldValue(
                type: type,
                bytes: [1] + [UInt8](repeating: key, count: 8) + [UInt8](repeating: 0xA5, count: 72)))
    }
}

extension WrappedRecordKey {
    static func sample(_ key: UInt8 = 7, version: Int64 = 1) -> WrappedRecordKey {
        WrappedRecordKey(
            id: [UInt8](repeating: key, count: 8), version: version, wrapped: [UInt8](repeating: 1, count: 105))
    }
}

extension WrappedGroupKey {
    static func sample(version: Int64) -> WrappedGroupKey {
        WrappedGroupKey(
            version: version, recipient: [UInt8](repeating: 2, count: 32), box: [UInt8](repeating: 3, count: 80),
            previous: version == 1 ? [] : [UInt8](repeating: 4, count: 105), signer: [UInt8](repeating: 5, count: 32),
            signature: [UInt8](repeating: 6, count: 64))
    }
}

extension RecordOperation {
    /// The operation with the wrapped key of its values.
    func withKey(_ key: UInt8 = 7, version: Int64 = 1) -> RecordOperation {
        var operation = self
        operation.record.keys = [.sample(key, version: version)]
        return operation
    }
}

extension TestDatabase {
    /// Gives the zone its next key.
    @discardableResult
    func makeZoneKey(version: Int64 = 1) async throws -> KeysResponse {
        try await cloud.service.putGroupKey(
            PutGroupKeyRequest(zoneID: zoneID, key: .sample(version: version)), context)
    }
}
