import NephosStorage
import NephosWire

/// A page of a query that is ready to be read.
struct PreparedPage {
    let page: QueryPage
    let plan: QueryPlan
    let checks: CandidateChecks
}

/// Prepares a page of a query in a snapshot: validates and plans the query, or takes both from the store's plan cache.
struct QueryPreparation {
    /// The moments of the schema and the index cache just before a snapshot is taken.
    struct Moments: Sendable {
        var schema: SchemaCatalog.Moment
        var indexes: IndexCatalog.Moment
    }

    let decoded: DecodedQuery
    let caller: Caller
    let container: String
    var bounds: QueryBounds
    let store: Store
    let moments: Moments
    let reader: StorageReader

    private var request: QueryRecordsRequest { decoded.request }

    /// - Parameter marker: the end of the previous page; nil for the first page.
    func page(after marker: String?) throws -> PreparedPage {
        if marker != nil { try store.validity.refresh(reader) }
        // The zones come first: if the zone is missing, the error does not depend on the record type.
        let zones = try zones()
        // The versions are read before the schema and the indexes, so a cached plan may be newer than its versions, but
        // never older.
        let key = marker == nil ? try planKey(zones) : nil
        let known = bounds.collects ? key.flatMap { store.plannedQueries.find($0) } : nil
        let query = try known?.query ?? validated()
        let page = QueryPage(
            query: query, conjuncts: known?.conjuncts ?? QueryConjunct.conjuncts(of: query), zones: zones,
            indexes: try store.indexes.definitions(asOf: moments.indexes, reader)[query.recordType] ?? TypeIndexes(),
            bounds: bounds, accounts: store.accounts, reader: reader, trace: QueryTrace(), limit: limit,
            cursor: try cursor(marker), projections: projections(zones))
        if let known { return PreparedPage(page: page, plan: known.plan, checks: known.checks) }
        let plan = try QueryPlanner(page).plan()
        let checks = CandidateChecks(plan, of: page)
        if !page.trace.hasCounted, page.trace.helpfulIndex == nil, let key {
            let planned = PlannedQuery(query: query, conjuncts: page.conjuncts, plan: plan, checks: checks)
            store.plannedQueries.insert(planned, for: key)
        }
        return PreparedPage(page: page, plan: plan, checks: checks)
    }

    /// The key of the query in the plan cache; nil while the schema or the indexes change.
    private func planKey(_ zones: [QueryZone]) throws -> PlannedQueries.Key? {
        guard let schema = try store.schemas.version(asOf: moments.schema, reader),
            let indexes = try store.indexes.version(asOf: moments.indexes, reader)
        else { return nil }
        return PlannedQueries.Key(
            decoded, caller, PlannedQueries.Versions(schema: schema, indexes: indexes),
            hidesRecords: zones.contains(where: \.hidesRecords))
    }

    /// The maximum number of records of the page; "more than 200 are not sent" (CloudKit Web Services, Data Size
    /// Limits).
    private var limit: Int {
        if request.wantsCount { return .max }
        return min(max(1, request.resultsLimit ?? bounds.resultsPerPage), bounds.resultsPerPage)
    }

    private func validated() throws -> ValidQuery {
        try store.schemas.deciding(asOf: moments.schema, reader) { schema throws(ServiceError) in
            var query = try QueryValidation(schema: schema, caller: caller, container: container, bounds: bounds)
                .validate(request.query)
            // No order changes a count.
            if request.wantsCount { query.sort = [] }
            return try RecordPermissions(caller, schema).restrict(query)
        }
    }

    private func cursor(_ marker: String?) throws(ServiceError) -> QueryCursor? {
        guard let marker else { return nil }
        guard let cursor = QueryCursor(marker, caller.tokenCodec, query: decoded.text.bytes) else {
            throw .invalid(
                "the continuationMarker is not one of this query's: send what the last page gave, with the query of the first page"
            )
        }
        // Positions in an order by name stay valid after a restore. Other markers refer to changes that the restore
        // lost.
        if [cursor.start, cursor.seen].contains(where: caller.tokenCodec.isLost) {
            throw .invalid("the store was restored from a backup since the query's last page: begin again")
        }
        return cursor
    }

    private func zones() throws -> [QueryZone] {
        func zone(_ row: ZoneRow) -> QueryZone { QueryZone(row, caller.zoneID(row.name)) }
        if request.zoneWide {
            guard let owner = caller.owner else {
                throw ServiceError.invalid(
                    "SharedDB does not support Zone Wide queries: name a zone of the shared database")
            }
            return try reader.zones(owner: owner).sorted { $0.key.id < $1.key.id }.map(zone)
        }
        // The start of the next page depends on the zone's complete sequence, which this reads with the zone.
        reader.expectFeeds()
        let address = caller.address(request.zoneID)
        guard let found = try ZoneRegistry.find(address, caller, reader) else {
            throw try ZoneRegistry.notFound(address, caller, .toRead, reader)
        }
        return [QueryZone(found.row, found.zoneID(for: caller), found.shared)]
    }

    /// The record format of each zone. In a query of all zones, each record names its zone.
    private func projections(_ zones: [QueryZone]) -> [RecordProjection] {
        zones.map { zone in
            RecordProjection(
                desiredKeys: request.desiredKeys, numbersAsStrings: request.numbersAsStrings,
                zoneID: request.zoneWide ? zone.zoneID : nil, isShared: caller.scope == .shared, assets: caller.assets)
        }
    }
}
