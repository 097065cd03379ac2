import NephosStorage
import NephosWire

/// Implements `zones/list` and `zones/lookup`.
enum LookupZones {
    /// Lists the default zone first, then the custom zones by name.
    static func list(_ caller: Caller, _ reader: StorageReader) throws -> ZonesResponse {
        guard let owner = caller.owner else { return try listShared(caller, reader) }
        let zones = try reader.zones(owner: owner)
        let ordered = zones.filter { ZoneRules.isDefault($0.name) } + zones.filter { !ZoneRules.isDefault($0.name) }
        return ZonesResponse(zones: try ordered.map { .zone(try ZoneRegistry.dictionary($0, for: caller, reader)) })
    }

    /// Lists the zones with content that is shared with the caller. A shared database has no default zone.
    private static func listShared(_ caller: Caller, _ reader: StorageReader) throws -> ZonesResponse {
        let view = SharedDatabaseView(account: try caller.requireAccount(), reader: reader)
        return ZonesResponse(
            zones: try view.zones().map { zone in
                let found = FoundZone(row: zone.zone, shared: zone)
                return .zone(try ZoneRegistry.dictionary(found, for: caller, reader))
            })
    }

    static func lookup(
        _ request: LookupZonesRequest, _ caller: Caller, _ reader: StorageReader
    ) throws -> ZonesResponse {
        guard request.zones.count <= Limits.operationsPerRequest else {
            throw ServiceError.limitExceeded(
                "number of zones exceeds the limit of \(Limits.operationsPerRequest): \(request.zones.count)")
        }
        let results = try request.zones.map { zoneID -> ZoneResult in
            let address = caller.address(zoneID)
            if let zone = try ZoneRegistry.find(address, caller, reader) {
                return .zone(try ZoneRegistry.dictionary(zone, for: caller, reader))
            }
            var error = try ZoneRegistry.notFound(address, caller, .toRead, reader)
                .dictionary(requestID: caller.requestID)
            error.zoneID = caller.spelled(zoneID)
            return .failure(error)
        }
        return ZonesResponse(zones: results)
    }
}
