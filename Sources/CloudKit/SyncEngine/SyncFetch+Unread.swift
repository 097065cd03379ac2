/// Unread records, which came without their content, because an encrypted value did not open or a file was not
/// available. The fetch of their zone continues, and its change token moves past them. So the engine stores their IDs,
/// retries them in each fetch, and reports them to the app until they can be read.
extension SyncFetch {
    /// The maximum number of unread records per zone that the state stores.
    static let unreadRecords = 1000
    static let itemsPerRequest = 100

    func partialFailure(_ failures: [CKRecord.ID: CKError]) -> CKError {
        .partialFailure(
            Dictionary(uniqueKeysWithValues: failures.map { (AnyHashable($0), $1 as any Error) }),
            ErrorContext(containerID: database.session.identifier))
    }

    /// Fetches the unread records again.
    /// - Returns: the errors of the records that still cannot be read, or the error of a record that the engine retries.
    /// - Throws: the failure of a request.
    func fetchUnread(
        in zoneID: CKRecordZone.ID, _ group: CKOperationGroup
    ) async throws(CKError) -> Result<[CKRecord.ID: CKError], CKError> {
        let unread = core.state.read { $0.unreadRecordIDs[zoneID] ?? [] }.sorted { $0.recordName < $1.recordName }
        var failures: [CKRecord.ID: CKError] = [:]
        for start in stride(from: 0, to: unread.count, by: Self.itemsPerRequest) {
            let recordIDs = Array(unread[start..<min(start + Self.itemsPerRequest, unread.count)])
            var read: [CKDatabase.RecordZoneChange.Modification] = []
            var gone: Set<CKRecord.ID> = []
            for (recordID, result) in try await records(recordIDs, group) {
                do {
                    read.append(.init(record: try result.get()))
                } catch {
                    let error = CKError(any: error)
                    // A missing key concerns only this record, so its ID is kept.
                    let lacksKey = error.code == .zoneBusy || error.code == .accountTemporarilyUnavailable
                    if error.isRetriedByEngine, !lacksKey { return .failure(error) }
                    // The change feed of the zone reports the deletion of the record.
                    if error.code == .unknownItem { gone.insert(recordID) } else { failures[recordID] = error }
                }
            }
            gone.formUnion(read.map(\.record.recordID))
            if gone.isEmpty { continue }
            func settle(_ content: inout CKSyncEngine.State.Content) {
                let left = (content.unreadRecordIDs[zoneID] ?? []).subtracting(gone)
                content.unreadRecordIDs[zoneID] = left.isEmpty ? nil : left
            }
            if read.isEmpty {
                core.state.update(settle)
                continue
            }
            await core.hand(.fetchedRecordZoneChanges(.init(modifications: read, deletions: [])), after: settle)
            await core.handOutState()
        }
        return .success(failures)
    }

    private func records(
        _ recordIDs: [CKRecord.ID], _ group: CKOperationGroup
    ) async throws(CKError) -> [CKRecord.ID: Result<CKRecord, any Error>] {
        do {
            return try await database.configuredWith(group: group) { try await $0.records(for: recordIDs) }
        } catch {
            throw CKError(any: error)
        }
    }
}
