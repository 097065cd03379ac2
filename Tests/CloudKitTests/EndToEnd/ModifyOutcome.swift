import CloudKit

/// All that a `CKModifyRecordsOperation` calls back, with both generations of blocks set.
final class ModifyOutcome: @unchecked Sendable {
    // Unchecked: an operation's blocks run one at a time, and nothing is read before the last of them.

    /// The names of the items and of the operation's own blocks, in the order of their calls.
    private(set) var events: [String] = []
    /// The failed items.
    private(set) var codes: [String: CKError.Code] = [:]
    private(set) var failure: (any Error)?
    /// What the older completion block said.
    private(set) var older: (any Error)?
    private(set) var saved: [String] = []
    private(set) var deleted: [String] = []

    init(
        saving records: [CKRecord], deleting recordIDs: [CKRecord.ID], isAtomic: Bool = true, in database: CKDatabase
    ) async {
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: recordIDs)
        operation.isAtomic = isAtomic
        operation.perRecordSaveBlock = { self.note($0, $1.map { _ in }) }
        operation.perRecordDeleteBlock = { self.note($0, $1) }
        operation.modifyRecordsResultBlock = { result in
            self.events.append("result")
            if case .failure(let error) = result { self.failure = error }
        }
        olderAPI.setCompletion(operation) { saved, deleted, error in
            self.events.append("older")
            self.saved = saved?.map(\.recordID.recordName) ?? []
            self.deleted = deleted?.map(\.recordName) ?? []
            self.older = error
        }
        await withCheckedContinuation { continuation in
            operation.completionBlock = {
                self.events.append("completion")
                continuation.resume()
            }
            database.add(operation)
        }
    }

    private func note(_ recordID: CKRecord.ID, _ result: Result<Void, any Error>) {
        events.append(recordID.recordName)
        if case .failure(let error) = result { codes[recordID.recordName] = (error as? CKError)?.code }
    }
}
