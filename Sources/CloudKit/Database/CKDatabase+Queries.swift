// Conveniences for queries. Each runs one operation, which fetches one page.

extension CKDatabase {
    /// Searches for records. The result has one page of records in the query's order, and a cursor if there may be
    /// more.
    ///
    /// A nil `zoneID` searches all zones. A `resultsLimit` of 0 leaves the page size to the service. If `desiredKeys`
    /// is nil, all keys are fetched.
    @preconcurrency
    public func fetch(
        withQuery query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
                        queryCursor: CKQueryOperation.Cursor?
                    ), any Error
                >
            ) -> Void
    ) {
        runQuery(query, zoneID, desiredKeys, resultsLimit, completionHandler)
    }

    /// Fetches the next page of a search.
    @preconcurrency
    public func fetch(
        withCursor queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
                        queryCursor: CKQueryOperation.Cursor?
                    ), any Error
                >
            ) -> Void
    ) {
        runQuery(CKQueryOperation(cursor: queryCursor), desiredKeys, resultsLimit, completionHandler)
    }

    /// Searches for records. The result has one page of records in the query's order, and a cursor if there may be
    /// more.
    ///
    /// A nil `zoneID` searches all zones. A `resultsLimit` of 0 leaves the page size to the service. If `desiredKeys`
    /// is nil, all keys are fetched.
    /// - Throws: `CKError` for a failure of the whole search, such as `.invalidArguments` for an unsupported query.
    public func records(
        matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        try await resultOfOperation { runQuery(query, zoneID, desiredKeys, resultsLimit, $0) }
    }

    /// Fetches the next page of a search.
    /// - Throws: `CKError` for a failure of the whole search.
    public func records(
        continuingMatchFrom queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        try await resultOfOperation {
            runQuery(CKQueryOperation(cursor: queryCursor), desiredKeys, resultsLimit, $0)
        }
    }

    // MARK: Former names

    /// Searches for records, and returns only the first page.
    @available(*, deprecated, message: "use records(matching:inZoneWith:desiredKeys:resultsLimit:)")
    @_disfavoredOverload
    public func records(matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
        try await perform(query, inZoneWith: zoneID)
    }

    func fetchFirstPage(
        _ query: CKQuery, _ zoneID: CKRecordZone.ID?,
        _ handler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
    ) {
        runQuery(query, zoneID, nil, CKQueryOperation.maximumResults) { result in
            hand(result.firstPage, to: handler)
        }
    }

    func firstPage(_ query: CKQuery, _ zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
        try await resultOfOperation { completion in
            runQuery(query, zoneID, nil, CKQueryOperation.maximumResults) { completion($0.firstPage) }
        }
    }

    // MARK: Underlying operation

    fileprivate typealias QueryPage = (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    )

    @discardableResult
    private func runQuery(
        _ query: CKQuery, _ zoneID: CKRecordZone.ID?, _ desiredKeys: [CKRecord.FieldKey]?, _ resultsLimit: Int,
        _ completion: @escaping @Sendable (Result<QueryPage, any Error>) -> Void
    ) -> CKOperation {
        let operation = CKQueryOperation(query: query)
        operation.zoneID = zoneID
        return runQuery(operation, desiredKeys, resultsLimit, completion)
    }

    @discardableResult
    private func runQuery(
        _ operation: CKQueryOperation, _ desiredKeys: [CKRecord.FieldKey]?, _ resultsLimit: Int,
        _ completion: @escaping @Sendable (Result<QueryPage, any Error>) -> Void
    ) -> CKOperation {
        let matches = Locked<[(CKRecord.ID, Result<CKRecord, any Error>)]>([])
        operation.desiredKeys = desiredKeys
        operation.resultsLimit = resultsLimit
        operation.recordMatchedBlock = { recordID, result in matches.withLock { $0.append((recordID, result)) } }
        operation.queryResultBlock = { outcome in
            completion(outcome.map { cursor in (matches.withLock { $0 }, cursor) })
        }
        run(operation)
        return operation
    }
}

extension Result where Success == CKDatabase.QueryPage, Failure == any Error {
    /// The records on the page, except those that failed.
    fileprivate var firstPage: Result<[CKRecord], any Error> {
        map { page in page.matchResults.compactMap { try? $0.1.get() } }
    }
}
