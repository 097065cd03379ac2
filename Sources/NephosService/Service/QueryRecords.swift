import NephosStorage
import NephosWire

/// `records/query`: validates and plans a query, and reads one page. If the plan needs missing indexes, they are built
/// first.
///
/// A class, because closures capture the whole value.
final class QueryRecords: Sendable {
    private let decoded: DecodedQuery
    private let caller: Caller
    private let container: String
    private let bounds: QueryBounds
    /// Whether the records are encoded as JSON, for a server, instead of returned as values.
    private let encodesRecords: Bool

    init(
        _ decoded: DecodedQuery, caller: Caller, container: String, bounds: QueryBounds, encodesRecords: Bool = false
    ) {
        self.decoded = decoded
        self.caller = caller
        self.container = container
        self.bounds = bounds
        self.encodesRecords = encodesRecords
    }

    private var request: QueryRecordsRequest { decoded.request }

    func run(on store: Store) async throws -> QueryRecordsResponse {
        if request.wantsCount { return try await count(on: store) }
        return try await page(request.continuationMarker, on: store).response
    }

    private struct Page: Sendable {
        var response: QueryRecordsResponse
        /// The number of candidates examined; only set if the response has a marker.
        var looks = 0
    }

    /// Counts the matches page by page, until all are counted or the examined candidates reach a bound; then the
    /// response has a marker. Each page has its own snapshot, so a long count is not a long read.
    private func count(on store: Store) async throws -> QueryRecordsResponse {
        var total = QueryRecordsResponse(records: [], continuationMarker: request.continuationMarker, count: 0)
        var looks = 0
        let deadline = ContinuousClock.now + bounds.timePerPage
        repeat {
            let page = try await page(total.continuationMarker, on: store)
            total.count = (total.count ?? 0) + (page.response.count ?? 0)
            total.explanation = page.response.explanation
            total.continuationMarker = page.response.continuationMarker
            looks += page.looks
        } while total.continuationMarker != nil && looks < bounds.candidatesPerCount && ContinuousClock.now < deadline
        return total
    }

    private func page(_ marker: String?, on store: Store) async throws -> Page {
        var wasDisallowed = false
        while true {
            do {
                return try await read(marker, on: store)
            } catch is RecordsTooLarge {
                throw ServiceError.limitExceeded(
                    "the records that have the same value in the first field of the order have more than"
                        + " \(bounds.sortedBytes) bytes: declare an index of all its fields in the schema")
            } catch let missing as MissingIndexes {
                // The schema may have changed since the plan; then the next attempt refuses the query.
                let isAllowed = try await store.indexBuilder.make(missing.signatures, of: request.query.recordType)
                if !isAllowed && wasDisallowed {
                    throw ServiceError.invalid("the schema changed since the query's first page: begin again")
                }
                wasDisallowed = !isAllowed
            }
        }
    }

    private func read(_ marker: String?, on store: Store) async throws -> Page {
        let moments = Moments(schema: store.schemas.now, indexes: store.indexes.now)
        return try await store.read(by: caller) { reader in
            do {
                return try self.run(marker, store, moments, self.bounds, reader)
            } catch is RecordsTooLarge {
                var bounds = self.bounds
                bounds.collects = false
                return try self.run(marker, store, moments, bounds, reader)
            }
        }
    }

    // MARK: - Reads in a snapshot

    /// The moments of the schema and the index cache just before a snapshot is taken.
    private struct Moments: Sendable {
        var schema: SchemaCatalog.Moment
        var indexes: IndexCatalog.Moment
    }

    private func run(
        _ marker: String?, _ store: Store, _ moments: Moments, _ bounds: QueryBounds, _ reader: StorageReader
    ) throws -> Page {
        if marker != nil { try store.validity.refresh(reader) }
        // The zones come first: if the zone is missing, the error does not depend on the record type.
        let zones = try zones(reader)
        // The versions are read before the schema and the indexes, so a cached plan may be newer than its versions, but
        // never older.
        let key = marker == nil ? try planKey(store, moments, zones, reader) : nil
        let known = bounds.collects ? key.flatMap { store.plannedQueries.find($0) } : nil
        let query = try known?.query ?? validated(store, moments.schema, reader)
        let page = QueryPage(
            query: query, conjuncts: known?.conjuncts ?? QueryConjunct.conjuncts(of: query), zones: zones,
            indexes: try store.indexes.definitions(asOf: moments.indexes, reader)[query.recordType] ?? TypeIndexes(),
            bounds: bounds, accounts: store.accounts, reader: reader, trace: QueryTrace(), limit: limit,
            cursor: try cursor(marker), projections: projections(zones))
        let plan = try known?.plan ?? QueryPlanner(page).plan()
        let checks = known?.checks ?? CandidateChecks(plan, of: page)
        if known == nil, !page.trace.hasCounted, page.trace.helpfulIndex == nil, let key {
            let planned = PlannedQuery(query: query, conjuncts: page.conjuncts, plan: plan, checks: checks)
            store.plannedQueries.insert(planned, for: key)
        }
        return try answer(page, plan, checks)
    }

    private func answer(
        _ page: QueryPage, _ plan: QueryPlan, _ checks: CandidateChecks
    ) throws -> Page {
        func explanation(_ returned: Int) -> QueryExplanation? {
            guard request.wantsExplanation else { return nil }
            let explanation = page.trace.explanation(plan, page.conjuncts, returned: returned)
            return page.isRestricted ? explanation.withoutCounts : explanation
        }
        if request.wantsCount, page.cursor == nil, let count = try page.count(plan) {
            return Page(response: QueryRecordsResponse(records: [], count: count, explanation: explanation(0)))
        }
        let encoder = encoder(page)
        let result = try page.run(plan, checks, into: encoder)
        let (values, encoded) = try encoder?.finish() ?? ([], nil)
        var response = QueryRecordsResponse(
            records: values, continuationMarker: result.cursor?.text(caller.tokenCodec, query: decoded.text.bytes),
            count: request.wantsCount ? result.count : nil, explanation: explanation(result.count))
        response.encodedRecords = encoded
        return Page(response: response, looks: result.looks)
    }

    // MARK: - Preparation

    /// The key of the query in the plan cache; nil while the schema or the indexes change.
    private func planKey(
        _ store: Store, _ moments: Moments, _ zones: [QueryZone], _ reader: StorageReader
    ) throws -> PlannedQueries.Key? {
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

    private func validated(
        _ store: Store, _ moment: SchemaCatalog.Moment, _ reader: StorageReader
    ) throws -> ValidQuery {
        func validate(_ schema: Schema) throws(ServiceError) -> ValidQuery {
            let query = try QueryValidation(schema: schema, caller: caller, container: container, bounds: bounds)
                .validate(request.query)
            return try RecordPermissions(caller, schema).restrict(query)
        }
        let known = try store.schemas.schema(asOf: moment, reader)
        do throws(ServiceError) {
            return try validate(known)
        } catch {
            // The cached schema may be stale: a type or field that it lacks may exist by now.
            let schema = try Schema(reader)
            let query = try validate(schema)
            store.schemas.remember(schema, at: try reader.version(of: .catalog), asOf: moment)
            return query
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

    private func zones(_ reader: StorageReader) throws -> [QueryZone] {
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

    // MARK: - Response

    /// The number of bytes reserved per record, into which most records fit.
    private static let recordSize = 1024

    /// The encoder of the page's records; nil if the query only counts records.
    private func encoder(_ page: QueryPage) -> RecordEncoder? {
        if request.wantsCount { return nil }
        return RecordEncoder(
            encoded: encodesRecords, reserving: Self.recordSize * min(limit, bounds.resultsPerPage), page.accounts,
            page.reader, caller)
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
