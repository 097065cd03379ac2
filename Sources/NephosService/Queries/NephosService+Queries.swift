package import NephosWire

extension NephosService {
    /// Finds records by their values (CloudKit Web Services, records/query).
    package func queryRecords(
        _ request: QueryRecordsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> QueryRecordsResponse {
        try await queryRecords(AskedQuery(request), context)
    }

    /// The query that a body of `records/query` asks; an empty one counts as `{}`.
    package func askedQuery(_ body: [UInt8]) throws(WireError) -> AskedQuery {
        try askedQueries.query(decoding: body)
    }

    /// The same for a query that was decoded, as a server has it.
    package func queryRecords(
        _ asked: AskedQuery, _ context: RequestContext
    ) async throws(ServiceError) -> QueryRecordsResponse {
        try await perform(context) { store, caller in
            try self.checkMayRead(caller)
            let query = QueryRecords(
                asked: asked, caller: caller, container: context.container, bounds: self.configuration.queries,
                encodesRecords: context.takesEncodedRecords)
            return try await query.run(on: store)
        }
    }
}
