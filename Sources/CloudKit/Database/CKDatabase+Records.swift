// Conveniences for records. Each runs one operation.

extension CKDatabase {
    // MARK: One record

    func fetchRecord(_ recordID: CKRecord.ID, _ handler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void) {
        runFetch([recordID], desiredKeys: nil) { result in
            hand(result.item(recordID), to: handler)
        }
    }

    func saveRecord(_ record: CKRecord, _ handler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void) {
        runModify(saving: [record], deleting: []) { result in
            hand(result.item { $0.saveResults[record.recordID] }, to: handler)
        }
    }

    func deleteRecord(_ recordID: CKRecord.ID, _ handler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
        runModify(saving: [], deleting: [recordID]) { result in
            let item = result.item { $0.deleteResults[recordID] }.map { recordID }
            hand(item, to: handler)
        }
    }

    // MARK: Several records

    /// Fetches records. Each ID gets a result of its own. If `desiredKeys` is nil, all keys are fetched.
    @preconcurrency
    public func fetch(
        withRecordIDs recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil,
        completionHandler:
            @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void
    ) {
        runFetch(recordIDs, desiredKeys: desiredKeys, completionHandler)
    }

    /// Fetches records. Each ID gets a result of its own. If `desiredKeys` is nil, all keys are fetched.
    /// - Throws: `CKError` for a failure of the whole request.
    public func records(
        for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        try await resultOfOperation { runFetch(ids, desiredKeys: desiredKeys, $0) }
    }

    /// Saves and deletes records. Each ID gets a result of its own.
    @preconcurrency
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
                        deleteResults: [CKRecord.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        runModify(
            saving: recordsToSave, deleting: recordIDsToDelete, savePolicy, atomically: atomically, completionHandler)
    }

    /// Saves and deletes records. Each ID gets a result of its own.
    /// - Throws: `CKError` for a failure of the whole request, never for failures of single items.
    @discardableResult
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) {
        try await resultOfOperation { completion in
            runModify(
                saving: recordsToSave, deleting: recordIDsToDelete, savePolicy, atomically: atomically, completion)
        }
    }

    // MARK: Underlying operations

    private typealias FetchResults = [CKRecord.ID: Result<CKRecord, any Error>]
    private typealias ModifyResults = (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    )

    @discardableResult
    private func runFetch(
        _ recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?,
        _ completion: @escaping @Sendable (Result<FetchResults, any Error>) -> Void
    ) -> CKOperation {
        let results = Locked<FetchResults>([:])
        let operation = CKFetchRecordsOperation(recordIDs: recordIDs)
        operation.desiredKeys = desiredKeys
        operation.perRecordResultBlock = { recordID, result in results.withLock { $0[recordID] = result } }
        operation.fetchRecordsResultBlock = { outcome in
            completion(outcome.asideFromItems.map { results.withLock { $0 } })
        }
        run(operation)
        return operation
    }

    @discardableResult
    private func runModify(
        saving records: [CKRecord], deleting recordIDs: [CKRecord.ID],
        _ savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        _ completion: @escaping @Sendable (Result<ModifyResults, any Error>) -> Void
    ) -> CKOperation {
        let results = Locked<ModifyResults>(([:], [:]))
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: recordIDs)
        operation.savePolicy = savePolicy
        operation.isAtomic = atomically
        operation.perRecordSaveBlock = { recordID, result in results.withLock { $0.saveResults[recordID] = result } }
        operation.perRecordDeleteBlock = { recordID, result in
            results.withLock { $0.deleteResults[recordID] = result }
        }
        operation.modifyRecordsResultBlock = { outcome in
            completion(outcome.asideFromItems.map { results.withLock { $0 } })
        }
        run(operation)
        return operation
    }
}
