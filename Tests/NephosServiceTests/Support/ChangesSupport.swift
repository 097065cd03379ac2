import NephosWire

@testable import NephosService

extension TestDatabase {
    /// A page of the zone's changes.
    func changes(
        since token: String? = nil, limit: Int? = nil, types: [String]? = nil, fetchEnd: String? = nil
    ) async throws(ServiceError) -> RecordZoneChanges {
        let request = RecordChangesRequest(
            zone: .init(
                zoneID: zoneID ?? .defaultZone, syncToken: token, resultsLimit: limit, desiredRecordTypes: types,
                fetchEnd: fetchEnd))
        return try await cloud.service.recordChanges(request, context).changes
    }

    func databaseChanges(
        since token: String? = nil, limit: Int? = nil, fetchEnd: String? = nil
    ) async throws(ServiceError) -> DatabaseChangesResponse {
        try await cloud.service.databaseChanges(
            DatabaseChangesRequest(syncToken: token, resultsLimit: limit, fetchEnd: fetchEnd), context)
    }

    func deleteZone(_ name: String) async throws(ServiceError) {
        let request = ModifyZonesRequest(operations: [
            ZoneOperation(operationType: .delete, zoneID: ZoneIDDictionary(zoneName: name))
        ])
        _ = try await cloud.service.modifyZones(request, context)
    }
}

extension DatabaseChangesResponse {
    /// Names; a deleted zone's with a minus.
    var summary: [String] { zones.map { ($0.deleted ? "-" : "") + $0.zoneID.zoneName } }
}

extension RecordZoneChanges {
    /// Names; a deleted record's with a minus.
    var summary: [String] {
        records.map { result in
            switch result {
            case .record(let record): record.recordName
            case .deleted(let record): "-" + record.recordName
            case .failure: "error"
            }
        }
    }
}
