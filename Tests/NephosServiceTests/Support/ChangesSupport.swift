import NephosWire

@testable import NephosService

extension TestDatabase {
    /// A page of the zone's changes.
    func changes(
        since token: String? = nil, limit: Int? = nil, types: [String]? = nil
    ) async throws(ServiceError) -> RecordZoneChanges {
        let request = RecordChangesRequest(
            zone: .init(
                zoneID: zoneID ?? .defaultZone, syncToken: token, resultsLimit: limit, desiredRecordTypes: types))
        return try await cloud.service.recordChanges(request, context).changes
    }

    func databaseChanges(since token: String? = nil, limit: Int? = nil) async throws(ServiceError)
        -> DatabaseChangesResponse
    {
        try await cloud.service.databaseChanges(
            DatabaseChangesRequest(syncToken: token, resultsLimit: limit), context)
    }
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
