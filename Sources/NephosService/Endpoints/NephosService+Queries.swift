package import NephosWire

extension NephosService {
    /// Finds records by their values (CloudKit Web Services, records/query).
    package func queryRecords(
        _ request: QueryRecordsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> QueryRecordsResponse {
        try await queryRecords(DecodedQuery(request), context)
    }

    /// Decodes a body of `records/query`. An empty body counts as `{}`.
    package func decodedQuery(_ body: [UInt8]) throws(WireError) -> DecodedQuery {
        try decodedQueries.query(decoding: body)
    }

    /// Finds records by a query that the caller has already decoded, as a server does.
    package func queryRecords(
        _ decoded: DecodedQuery, _ context: RequestContext
    ) async throws(ServiceError) -> QueryRecordsResponse {
        // The token is read before the records, so the next fetch returns changes that are made meanwhile.
        let syncToken = try await currentSyncToken(of: decoded.request.zoneID, context)
        return try await perform(context, reads: true) { store, caller in
            try self.checkMayRead(caller)
            let query = QueryRecords(
                decoded, caller: caller, container: context.container, bounds: self.configuration.queries,
                encodesRecords: context.takesEncodedRecords)
            var response = try await query.run(on: store)
            response.syncToken = syncToken
            self.preflight(decoded.request.query, context)
            return response
        }
    }
}
