/// Records that came without their content: an encrypted value did not open, or a file is not there. The rest of their zone
/// goes on, and tokens pass them; so the engine keeps their IDs, asks for them at each of its fetches, and tells the app of
/// them until they can be read.
extension SyncFetch {
    /// Unread records that the state holds for a zone, at most.
    static let unreadRecords = 1000
    static let itemsPerRequest = 100

    func partialFailure(_ failures: [CKRecord.ID: CKError]) -> CKError {
        .partialFailure(
            Dictionary(uniqueKeysWithValues: failures.map { (AnyHashable($0), $1 as any Error) }),
            ErrorContext(containerID: database.session.identifier))
    }

    /// Fetches them once more.
    /// - Returns: why some still cannot be read.
    func fetchUnread(
        in zoneID: CKRecordZone.ID, _ group: CKOperationGroup
    ) async throws(CKError) -> [CKRecord.ID: CKError] {
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
                    // A key that is missing is that record's error: its ID is kept.
                    let lacksKey = error.code == .zoneBusy || error.code == .accountTemporarilyUnavailable
                    if error.isRetriedByEngine, !lacksKey { throw error }
                    // Its deletion comes with the zone's changes.
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
        return failures
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
