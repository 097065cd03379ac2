public import CloudKit
import NephosWire

extension CKDatabase {
    /// Runs the first page of a query and returns how the service found its records. Not part of Apple's API.
    ///
    ///     print(try await database.explain(query))
    ///     // index list, stars (QUERYABLE, SORTABLE): list EQUALS inbox; 21 entries read
    ///     // 21 entries read, 20 records read, 20 records returned, and there are more
    ///
    /// The first query with a new combination of conditions creates the indexes that it needs and waits for them. The
    /// explanation describes the run after that.
    /// - Throws: `CKError`, with the errors of a query.
    public func explain(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> QueryExplanation {
        let answer = try await answer(query, inZoneWith: zoneID) { request in
            request.wantsExplanation = true
            request.resultsLimit = resultsLimit > 0 ? resultsLimit : nil
            // The explanation needs no field values.
            request.desiredKeys = []
        }
        guard let explanation = answer.explanation else {
            throw CKError(
                .internalError,
                userInfo: [
                    NSLocalizedDescriptionKey: "The service does not explain: it is no Nephos, or an older one."
                ])
        }
        return QueryExplanation(explanation, hasMore: answer.continuationMarker != nil)
    }
}
