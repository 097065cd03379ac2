// Conveniences for record zones. Each runs one operation.

extension CKDatabase {
    // MARK: All zones, and one

    func fetchAllZones(_ handler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void) {
        runFetchAllZones { result in hand(result, to: handler) }
    }

    func everyZone() async throws -> [CKRecordZone] { try await resultOfOperation { runFetchAllZones($0) } }

    func fetchZone(_ zoneID: CKRecordZone.ID, _ handler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void) {
        runFetchZones([zoneID]) { result in hand(result.item(zoneID), to: handler) }
    }

    func saveZone(_ zone: CKRecordZone, _ handler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void) {
        runModifyZones(saving: [zone], deleting: []) { result in
            hand(result.item { $0.saveResults[zone.zoneID] }, to: handler)
        }
    }

    func deleteZone(
        _ zoneID: CKRecordZone.ID, _ handler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        runModifyZones(saving: [], deleting: [zoneID]) { result in
            let item = result.item { $0.deleteResults[zoneID] }.map { zoneID }
            hand(item, to: handler)
        }
    }

    // MARK: Several zones

    /// Fetches zones. Each ID gets a result of its own.
    @preconcurrency
    public func fetch(
        withRecordZoneIDs zoneIDs: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>) -> Void
    ) {
        runFetchZones(zoneIDs, completionHandler)
    }

    /// Fetches zones. Each ID gets a result of its own.
    /// - Throws: `CKError` for a failure of the whole request.
    public func recordZones(
        for ids: [CKRecordZone.ID]
    ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        try await resultOfOperation { runFetchZones(ids, $0) }
    }

    /// Saves and deletes zones. Each ID gets a result of its own.
    @preconcurrency
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
                        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        runModifyZones(saving: recordZonesToSave, deleting: recordZoneIDsToDelete, completionHandler)
    }

    /// Saves and deletes zones. Each ID gets a result of its own.
    /// - Throws: `CKError` for a failure of the whole request, never for failures of single items.
    @discardableResult
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID]
    ) async throws -> (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    ) {
        try await resultOfOperation {
            runModifyZones(saving: recordZonesToSave, deleting: recordZoneIDsToDelete, $0)
        }
    }

    // MARK: Underlying operations

    private typealias FetchResults = [CKRecordZone.ID: Result<CKRecordZone, any Error>]
    private typealias ModifyResults = (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    )

    @discardableResult
    private func runFetchAllZones(
        _ completion: @escaping @Sendable (Result<[CKRecordZone], any Error>) -> Void
    ) -> CKOperation {
        let zones = Locked<[CKRecordZone]>([])
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        operation.perRecordZoneResultBlock = { _, result in
            if case .success(let zone) = result { zones.withLock { $0.append(zone) } }
        }
        operation.fetchRecordZonesResultBlock = { outcome in
            completion(outcome.asideFromItems.map { zones.withLock { $0 } })
        }
        run(operation)
        return operation
    }

    @discardableResult
    private func runFetchZones(
        _ zoneIDs: [CKRecordZone.ID], _ completion: @escaping @Sendable (Result<FetchResults, any Error>) -> Void
    ) -> CKOperation {
        let results = Locked<FetchResults>([:])
        let operation = CKFetchRecordZonesOperation(recordZoneIDs: zoneIDs)
        operation.perRecordZoneResultBlock = { zoneID, result in results.withLock { $0[zoneID] = result } }
        operation.fetchRecordZonesResultBlock = { outcome in
            completion(outcome.asideFromItems.map { results.withLock { $0 } })
        }
        run(operation)
        return operation
    }

    @discardableResult
    private func runModifyZones(
        saving zones: [CKRecordZone], deleting zoneIDs: [CKRecordZone.ID],
        _ completion: @escaping @Sendable (Result<ModifyResults, any Error>) -> Void
    ) -> CKOperation {
        let results = Locked<ModifyResults>(([:], [:]))
        let operation = CKModifyRecordZonesOperation(recordZonesToSave: zones, recordZoneIDsToDelete: zoneIDs)
        operation.perRecordZoneSaveBlock = { zoneID, result in results.withLock { $0.saveResults[zoneID] = result } }
        operation.perRecordZoneDeleteBlock = { zoneID, result in
            results.withLock { $0.deleteResults[zoneID] = result }
        }
        operation.modifyRecordZonesResultBlock = { outcome in
            completion(outcome.asideFromItems.map { results.withLock { $0 } })
        }
        run(operation)
        return operation
    }
}
