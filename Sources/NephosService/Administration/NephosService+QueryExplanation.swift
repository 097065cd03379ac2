import NephosStorage
package import NephosWire

extension NephosService {
    /// Explains how a query is answered, as an existing account. Makes no account and no index.
    /// - Throws: `unknownItem` without the account, and `invalid` if the query needs an index that does not exist.
    package func explainQuery(
        _ request: ExplainQueryRequest, _ context: RequestContext
    ) async throws(ServiceError) -> QueryExplanation {
        guard let scope = DatabaseScope(rawValue: request.database) else {
            throw .invalid("expected the database public, private or shared")
        }
        var query = request.request
        query.wantsExplanation = true
        let decoded = DecodedQuery(query)
        return try await administer(context) { store in
            let account = try await store.engine.read { reader in
                try request.account.map { try Self.account(named: $0, reader) }
            }
            let caller = store.caller(account, scope, context)
            try self.checkMayRead(caller)
            let run = QueryRecords(
                decoded, caller: caller, container: context.container, bounds: self.configuration.queries,
                makesIndexes: false)
            return try await run.run(on: store).explanation
                ?? QueryExplanation(scans: [], entriesRead: 0, recordsRead: 0, recordsReturned: 0)
        }
    }
}
