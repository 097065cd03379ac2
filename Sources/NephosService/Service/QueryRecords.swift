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
    /// Whether missing indexes are built; otherwise they are an error.
    private let makesIndexes: Bool

    init(
        _ decoded: DecodedQuery, caller: Caller, container: String, bounds: QueryBounds, encodesRecords: Bool = false,
        makesIndexes: Bool = true
    ) {
        self.decoded = decoded
        self.caller = caller
        self.container = container
        self.bounds = bounds
        self.encodesRecords = encodesRecords
        self.makesIndexes = makesIndexes
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
            } catch is MissingIndexes where !makesIndexes {
                throw ServiceError.invalid(
                    "an index of the query does not exist yet: the app's next such query makes it")
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
        let moments = QueryPreparation.Moments(schema: store.schemas.now, indexes: store.indexes.now)
        return try await store.read(by: caller, expecting: .query) { reader in
            var preparation = QueryPreparation(
                decoded: self.decoded, caller: self.caller, container: self.container, bounds: self.bounds,
                store: store, moments: moments, reader: reader)
            do {
                return try self.answer(preparation.page(after: marker))
            } catch is RecordsTooLarge {
                preparation.bounds.collects = false
                return try self.answer(preparation.page(after: marker))
            }
        }
    }

    // MARK: - Answer

    private func answer(_ prepared: PreparedPage) throws -> Page {
        let (page, plan) = (prepared.page, prepared.plan)
        func explanation(_ returned: Int) -> QueryExplanation? {
            guard request.wantsExplanation else { return nil }
            let explanation = page.trace.explanation(plan, page.conjuncts, returned: returned)
            return page.isRestricted ? explanation.withoutCounts : explanation
        }
        if request.wantsCount, page.cursor == nil, let count = try page.count(plan) {
            return Page(response: QueryRecordsResponse(records: [], count: count, explanation: explanation(0)))
        }
        let encoder = encoder(page)
        let result = try page.run(plan, prepared.checks, into: encoder)
        let (values, encoded) = try encoder?.finish() ?? ([], nil)
        var response = QueryRecordsResponse(
            records: values, continuationMarker: result.cursor?.text(caller.tokenCodec, query: decoded.text.bytes),
            count: request.wantsCount ? result.count : nil, explanation: explanation(result.count))
        response.encodedRecords = encoded
        return Page(response: response, looks: result.looks)
    }

    /// The number of bytes reserved per record, into which most records fit.
    private static let recordSize = 1024

    /// The encoder of the page's records; nil if the query only counts records.
    private func encoder(_ page: QueryPage) -> RecordEncoder? {
        if request.wantsCount { return nil }
        return RecordEncoder(
            encoded: encodesRecords, reserving: Self.recordSize * min(page.limit, bounds.resultsPerPage), page.accounts,
            page.reader, caller)
    }
}
