import NephosStorage
package import NephosWire

extension NephosService {
    /// Finds the records with a name or a value, in the zones of the public database and of every account. A page reads
    /// `Limits.zonesPerPage` zones; for a value `Limits.browsedRecords` records, too.
    package func findRecords(
        _ request: FindRecordsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> FindRecordsResponse {
        guard request.database == nil || request.database == "public" else {
            throw .invalid("the database is public, or left out for all")
        }
        return try await administer(context, ifUnused: FindRecordsResponse()) { store in
            let strings = TokenCodec(key: store.key, database: "")
            let caller = store.caller(viewing: nil, context)
            switch (request.recordName, request.value) {
            case (let name?, nil):
                guard name.isStorable else { return FindRecordsResponse() }
                return try await store.read(by: caller) { try Self.records(named: name, request, strings, $0) }
            case (nil, let value?):
                guard value.utf8.count <= Limits.searchedText else {
                    throw ServiceError.invalid("the value has more than \(Limits.searchedText) bytes")
                }
                return try await store.read(by: caller) { reader in
                    var search = ValueSearch(value, isPublic: request.database != nil, strings, reader)
                    return try search.run(from: request.continuationMarker)
                }
            default: throw ServiceError.invalid("a search has either a recordName or a value")
            }
        }
    }

    private static func records(
        named name: String, _ request: FindRecordsRequest, _ strings: TokenCodec, _ reader: StorageReader
    ) throws -> FindRecordsResponse {
        if request.database != nil {
            return FindRecordsResponse(
                records: try reader.zones(owner: .everyone).compactMap { try found(name, in: $0, nil, reader) })
        }
        let start = try position(request.continuationMarker, for: .recordSearch, strings)
        let zones = try reader.zones(after: start, limit: Limits.zonesPerPage)
        let records = try zones.compactMap { zone -> FindRecordsResponse.Found? in
            if zone.key.owner == .everyone { return try found(name, in: zone, nil, reader) }
            guard let account = try reader.liveAccount(id: zone.key.owner.rawValue) else { return nil }
            return try found(name, in: zone, account.name, reader)
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
