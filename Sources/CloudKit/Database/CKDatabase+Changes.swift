// Conveniences for changes. Each runs one operation, which fetches one batch.

extension CKDatabase {
    // MARK: Zones of the database

    /// Fetches the zones that changed or were deleted since a token; nil fetches from the beginning. If `moreComing` is
    /// true, the app calls this method again with the new token.
    @preconcurrency
    public func fetchDatabaseChanges(
        since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modifications: [CKDatabase.DatabaseChange.Modification],
                        deletions: [CKDatabase.DatabaseChange.Deletion], changeToken: CKServerChangeToken,
                        moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        runDatabaseChanges(since: changeToken, resultsLimit, completionHandler)
    }

    /// Fetches the zones that changed or were deleted since a token; nil fetches from the beginning. If `moreComing` is
    /// true, the app calls this method again with the new token.
    /// - Throws: `CKError`: `.changeTokenExpired` for a token that the service no longer knows.
    public func databaseChanges(
        since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil
    ) async throws -> (
        modifications: [CKDatabase.DatabaseChange.Modification], deletions: [CKDatabase.DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        try await resultOfOperation { runDatabaseChanges(since: changeToken, resultsLimit, $0) }
    }

    // MARK: Records of a zone

    /// Fetches the records that were saved or deleted in a zone since a token; nil fetches from the beginning. If
    /// `moreComing` is true, the app calls this method again with the new token.
    @preconcurrency
    public func fetchRecordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modificationResultsByID: [CKRecord.ID: Result<
                            CKDatabase.RecordZoneChange.Modification, any Error
                        >],
                        deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken,
                        moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        runZoneChanges(zoneID, since: changeToken, desiredKeys, resultsLimit, completionHandler)
    }

    /// Fetches the records that were saved or deleted in a zone since a token; nil fetches from the beginning. If
    /// `moreComing` is true, the app calls this method again with the new token.
    /// - Throws: `CKError`: `.changeTokenExpired` for a token that the zone no longer knows.
    public func recordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil
    ) async throws -> (
        modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>],
        deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        try await resultOfOperation { runZoneChanges(zoneID, since: changeToken, desiredKeys, resultsLimit, $0) }
    }

    // MARK: Underlying operations

    private typealias DatabaseChanges = (
        modifications: [CKDatabase.DatabaseChange.Modification], deletions: [CKDatabase.DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    )
    private typealias ZoneChanges = (
        modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>],
        deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    )

    private struct ZoneGathering: Sendable {
        var modifications: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>] = [:]
        var deletions: [CKDatabase.RecordZoneChange.Deletion] = []
        var end: Result<(token: CKServerChangeToken, moreComing: Bool), any Error>?
    }

    @discardableResult
    private func runDatabaseChanges(
        since token: CKServerChangeToken?, _ resultsLimit: Int?,
        _ completion: @escaping @Sendable (Result<DatabaseChanges, any Error>) -> Void
    ) -> CKOperation {
        let modifications = Locked<[CKDatabase.DatabaseChange.Modification]>([])
        let deletions = Locked<[CKDatabase.DatabaseChange.Deletion]>([])
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)
        operation.resultsLimit = resultsLimit ?? 0
        operation.fetchAllChanges = false
        operation.recordZoneWithIDChangedBlock = { zoneID in modifications.withLock { $0.append(.init(zoneID: zoneID)) }
        }
        func note(_ reason: CKDatabase.DatabaseChange.Deletion.Reason) -> (CKRecordZone.ID) -> Void {
            { zoneID in deletions.withLock { $0.append(.init(zoneID: zoneID, reason: reason)) } }
        }
        operation.recordZoneWithIDWasDeletedBlock = note(.deleted)
        operation.recordZoneWithIDWasPurgedBlock = note(.purged)
        operation.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = note(.encryptedDataReset)
        operation.fetchDatabaseChangesResultBlock = { outcome in
            completion(
                outcome.map { end in
                    (
                        modifications.withLock { $0 }, deletions.withLock { $0 }, end.serverChangeToken,
                        end.moreComing
                    )
                })
        }
        run(operation)
        return operation
    }

    @discardableResult
    private func runZoneChanges(
        _ zoneID: CKRecordZone.ID, since token: CKServerChangeToken?, _ desiredKeys: [CKRecord.FieldKey]?,
        _ resultsLimit: Int?, _ completion: @escaping @Sendable (Result<ZoneChanges, any Error>) -> Void
    ) -> CKOperation {
        let gathering = Locked(ZoneGathering())
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            previousServerChangeToken: token, resultsLimit: resultsLimit, desiredKeys: desiredKeys)
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: configuration])
        operation.fetchAllChanges = false
        operation.recordWasChangedBlock = { recordID, result in
            gathering.withLock { $0.modifications[recordID] = result.map { .init(record: $0) } }
        }
        operation.recordWithIDWasDeletedBlock = { recordID, recordType in
            gathering.withLock { $0.deletions.append(.init(recordID: recordID, recordType: recordType)) }
        }
        operation.recordZoneFetchResultBlock = { _, result in
            gathering.withLock { $0.end = result.map { ($0.serverChangeToken, $0.moreComing) } }
        }
        operation.fetchRecordZoneChangesResultBlock = { outcome in
            let gathered = gathering.withLock { $0 }
            completion(
                outcome.asideFromItems.item { gathered.end }.map { end in
                    (gathered.modifications, gathered.deletions, end.token, end.moreComing)
                })
        }
        run(operation)
        return operation
    }
}
