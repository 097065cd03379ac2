package import NephosWire

// Additions of Nephos to the answer of a query, besides records. `CloudKitExtras` has their public form.

extension CKDatabase {
    /// Sends a query, whose request `adding` extends. Returns the service's answer unchanged.
    /// - Throws: `CKError`.
    package func answer(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
        adding: @escaping @Sendable (inout QueryRecordsRequest) -> Void
    ) async throws -> QueryRecordsResponse {
        try await resultOfOperation { completion in
            let operation = QueryAnswerOperation(query, zoneID, adding, completion)
            run(operation)
            return operation
        }
    }
}

/// An operation that sends records/query and returns the service's answer unchanged.
private final class QueryAnswerOperation: CKDatabaseOperation, @unchecked Sendable {
    // Unchecked, as all operations are: all members are constants, and a lock guards the answer.
    private let query: CKQuery
    private let zoneID: CKRecordZone.ID?
    private let adding: @Sendable (inout QueryRecordsRequest) -> Void
    private let completion: @Sendable (Result<QueryRecordsResponse, any Error>) -> Void
    private let answer = Locked<QueryRecordsResponse?>(nil)

    init(
        _ query: CKQuery, _ zoneID: CKRecordZone.ID?, _ adding: @escaping @Sendable (inout QueryRecordsRequest) -> Void,
        _ completion: @escaping @Sendable (Result<QueryRecordsResponse, any Error>) -> Void
    ) {
        self.query = query
        self.zoneID = zoneID
        self.adding = adding
        self.completion = completion
    }

    override func perform() async throws(CKError) {
        let context = makeRequestContext()
        var request = try context.request(query, in: zoneID)
        adding(&request)
        try context.requireAccount()
        answer.exchange(try await context.answer(request))
    }

    override func conclude(_ failure: CKError?) {
        let answer = answer.exchange(nil)
        if let answer, failure == nil {
            completion(.success(answer))
        } else {
            completion(.failure(failure ?? CKError(.internalError, "The query has no answer.", errorContext)))
        }
    }
}
