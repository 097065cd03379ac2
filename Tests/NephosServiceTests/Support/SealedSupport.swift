import NephosService
import NephosWire

extension FieldValue {
    /// A value in the form of an encrypted one, which no key opens.
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
        try await cloud.service.makeZoneKey(
            context, zone: zone ?? ZoneIDDictionary.defaultZoneName, version: version)
    }

    func sampleGroupKey(version: Int64) async throws -> WrappedGroupKey {
        ListedDevice(1).groupKey(version, of: try await groupPlace())
    }
}
