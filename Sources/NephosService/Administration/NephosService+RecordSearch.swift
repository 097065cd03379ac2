import NephosStorage
package import NephosWire

extension NephosService {
    /// Finds the records with a name, in the zones of the public database and of every account. A page reads
    /// `Limits.zonesPerPage` zones.
    package func findRecords(
        _ request: FindRecordsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> FindRecordsResponse {
        guard request.database == nil || request.database == "public" else {
            throw .invalid("the database is public, or left out for all")
        }
        return try await administer(context, ifUnused: FindRecordsResponse()) { store in
            guard request.recordName.isStorable else { return FindRecordsResponse() }
            let strings = TokenCodec(key: store.key, database: "")
            return try await store.read(by: store.caller(viewing: nil, context)) { reader in
                if request.database != nil {
                    return FindRecordsResponse(
                        records: try reader.zones(owner: .everyone).compactMap {
                            try Self.found(request.recordName, in: $0, nil, reader)
                        })
                }
                return try Self.records(named: request, strings, reader)
            }
        }
    }

    private static func records(
        named request: FindRecordsRequest, _ strings: TokenCodec, _ reader: StorageReader
    ) throws -> FindRecordsResponse {
        let start = try position(request.continuationMarker, for: .recordSearch, strings)
        let zones = try reader.zones(after: start, limit: Limits.zonesPerPage)
        let records = try zones.compactMap { zone -> FindRecordsResponse.Found? in
            if zone.key.owner == .everyone { return try found(request.recordName, in: zone, nil, reader) }
            guard let account = try reader.liveAccount(id: zone.key.owner.rawValue) else { return nil }
            return try found(request.recordName, in: zone, account.name, reader)
        }
        let last = zones.count == Limits.zonesPerPage ? zones.last : nil
        return FindRecordsResponse(
            records: records,
            continuationMarker: last.map { strings.text(Array("\($0.key.id)".utf8), for: .recordSearch) })
    }

    private static func found(
        _ name: String, in zone: ZoneRow, _ account: String?, _ reader: StorageReader
    ) throws -> FindRecordsResponse.Found? {
        guard let row = try reader.record(zone: zone.key, named: name), !row.isDeleted else { return nil }
        return .init(account: account, zoneName: zone.name, recordType: row.type)
    }
}
