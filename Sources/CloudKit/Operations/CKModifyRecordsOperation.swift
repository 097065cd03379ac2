public import Foundation
import NephosWire

/// Saves and deletes records of one database (CKModifyRecordsOperation, Apple's documentation).
///
/// Everything goes in one request. In a zone that is atomic, and with `isAtomic` as it is, either all changes happen
/// or none: then the items that were not at fault fail with `batchRequestFailed`.
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// What of a record is sent, and whether the server compares change tags.
    public enum RecordSavePolicy: Int, Hashable, Sendable {
        /// The changed keys are sent; the save fails with `serverRecordChanged` if the server has another version.
        case ifServerRecordUnchanged = 0
        /// The changed keys are sent; the version is not compared.
        case changedKeys = 1
        /// All keys are sent; the version is not compared. Keys that only the server has stay.
        case allKeys = 2
    }

    private struct Blocks {
        var perRecordProgress: ((CKRecord, Double) -> Void)?
        var perRecordSave: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
        var perRecordDelete: ((CKRecord.ID, Result<Void, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var perRecordCompletion: ((CKRecord, (any Error)?) -> Void)?
        var completion: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?
    }

    /// What the items came to, for the older completion block.
    private struct Outcome {
        var saved: [CKRecord] = []
        var deleted: [CKRecord.ID] = []
        var errors: [AnyHashable: any Error] = [:]
    }

    private let request = Locked(ModifyRecordsPlan.Input())
    private let blocks = Locked(Blocks())
    private let outcome = Locked(Outcome())

    public override init() { super.init() }

    /// An operation with something to do; at least one of the two should be given.
    public convenience init(recordsToSave: [CKRecord]? = nil, recordIDsToDelete: [CKRecord.ID]? = nil) {
        self.init()
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
    }

    /// The records to save; all in the operation's database, in any of its zones, each once.
    open var recordsToSave: [CKRecord]? {
        get { request.recordsToSave }
        set { request.recordsToSave = newValue }
    }

    /// The IDs of the records to delete.
    open var recordIDsToDelete: [CKRecord.ID]? {
        get { request.recordIDsToDelete }
        set { request.recordIDsToDelete = newValue }
    }

    /// What of the records is sent, and whether the server compares versions. Shares are always saved with
    /// `.ifServerRecordUnchanged`.
    open var savePolicy: RecordSavePolicy {
        get { request.savePolicy }
        set { request.savePolicy = newValue }
    }

    /// A token of the app's own to recognise its changes by.
    open var clientChangeTokenData: Data? {
        get { request.clientChangeTokenData }
        set { request.clientChangeTokenData = newValue }
    }

    /// Whether the changes to a zone happen all or not at all, where the zone can do that.
    open var isAtomic: Bool {
        get { request.isAtomic }
        set { request.isAtomic = newValue }
    }

    /// Called with how much of a record was sent, from 0 to 1; at least once with 1 for every record.
    open var perRecordProgressBlock: ((CKRecord, Double) -> Void)? {
        get { blocks.perRecordProgress }
        set { blocks.perRecordProgress = newValue }
    }

    /// Called once for every record to save.
    open var perRecordSaveBlock: ((_ recordID: CKRecord.ID, _ saveResult: Result<CKRecord, any Error>) -> Void)? {
        get { blocks.perRecordSave }
        set { blocks.perRecordSave = newValue }
    }

    /// Called once for every record to delete.
    open var perRecordDeleteBlock: ((_ recordID: CKRecord.ID, _ deleteResult: Result<Void, any Error>) -> Void)? {
        get { blocks.perRecordDelete }
        set { blocks.perRecordDelete = newValue }
    }

    /// Called once, at the end. Fails only with what concerns the whole operation, never with `partialFailure`.
    open var modifyRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once for every record to save, unless there is a `perRecordSaveBlock`.
    @available(*, deprecated, message: "use perRecordSaveBlock")
    open var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)? {
        get { blocks.perRecordCompletion }
        set { blocks.perRecordCompletion = newValue }
    }

    /// Called once, at the end, with what was saved and deleted; if some items failed, with a `partialFailure`.
    @available(*, deprecated, message: "use modifyRecordsResultBlock")
    open var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let context = makeRequestContext()
        let plan = try ModifyRecordsPlan(request.withLock { $0 }, context.errors)
        var answers: [RecordResult] = []
        if let request = plan.request {
            try context.requireAccount()
            answers = try await context.modifyRecords(request)
        }
        deliver(plan.outcomes(of: answers, context)) { self.hand(out: $0) }
    }

    private func hand(out item: ModifyRecordsPlan.ItemOutcome) {
        let blocks = blocks.withLock { $0 }
        switch item {
        case .save(let record, let error):
            outcome.withLock { outcome in
                if let error { outcome.errors[record.recordID] = error } else { outcome.saved.append(record) }
            }
            blocks.perRecordProgress?(record, 1)
            if let block = blocks.perRecordSave {
                block(record.recordID, error.map { .failure($0) } ?? .success(record))
            } else {
                blocks.perRecordCompletion?(record, error)
            }
        case .delete(let recordID, let error):
            outcome.withLock { outcome in
                if let error { outcome.errors[recordID] = error } else { outcome.deleted.append(recordID) }
            }
            blocks.perRecordDelete?(recordID, error.map { .failure($0) } ?? .success(()))
        }
    }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        let outcome = outcome.exchange(Outcome())
        blocks.result?(failure.map { .failure($0) } ?? .success(()))
        if let failure {
            blocks.completion?(nil, nil, failure)
        } else {
            let partial = outcome.errors.isEmpty ? nil : CKError.partialFailure(outcome.errors, errorContext)
            blocks.completion?(outcome.saved, outcome.deleted, partial)
        }
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}

/// The old name of `CKModifyRecordsOperation.RecordSavePolicy`.
@available(*, deprecated, renamed: "CKModifyRecordsOperation.RecordSavePolicy")
public typealias CKRecordSavePolicy = CKModifyRecordsOperation.RecordSavePolicy
