public import Foundation
import NephosWire

/// Saves and deletes records of one database (CKModifyRecordsOperation, Apple's documentation).
///
/// The operation sends all changes in one request. In an atomic zone, either all changes succeed or none does, unless
/// `isAtomic` is false. If one fails, items without a fault of their own fail with `batchRequestFailed`.
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The policy of a save: which keys of a record are sent, and whether the server compares change tags.
    public enum RecordSavePolicy: Int, Hashable, Sendable, BitwiseCopyable {
        /// Sends the changed keys. The save fails with `serverRecordChanged` if the server has another version of the
        /// record.
        case ifServerRecordUnchanged = 0
        /// Sends the changed keys. The server compares no versions.
        case changedKeys = 1
        /// Sends all keys. The server compares no versions, and keeps keys that only its record has.
        case allKeys = 2
    }

    /// The blocks of the operation that are specific to records.
    private struct RecordBlocks {
        var perRecordProgress: ((CKRecord, Double) -> Void)?
        var perRecordCompletion: ((CKRecord, (any Error)?) -> Void)?
    }

    private let request = Locked(ModifyRecordsPlan.Input())
    private let report = ModificationReport<CKRecord.ID, CKRecord>()
    private let recordBlocks = Locked(RecordBlocks())

    public override init() { super.init() }

    /// An operation that saves and deletes records. At least one of the two lists should not be nil.
    public convenience init(recordsToSave: [CKRecord]? = nil, recordIDsToDelete: [CKRecord.ID]? = nil) {
        self.init()
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
    }

    /// The records to save, each at most once, from any zones of the operation's database; nil for none.
    open var recordsToSave: [CKRecord]? {
        get { request.recordsToSave }
        set { request.recordsToSave = newValue }
    }

    /// The IDs of the records to delete; nil for none. A record that does not exist causes no error.
    open var recordIDsToDelete: [CKRecord.ID]? {
        get { request.recordIDsToDelete }
        set { request.recordIDsToDelete = newValue }
    }

    /// The policy that determines which keys are sent and whether the server compares versions. Shares are always saved
    /// with `.ifServerRecordUnchanged`.
    open var savePolicy: RecordSavePolicy {
        get { request.savePolicy }
        set { request.savePolicy = newValue }
    }

    /// A token by which the app recognises its own changes; nil for none.
    open var clientChangeTokenData: Data? {
        get { request.clientChangeTokenData }
        set { request.clientChangeTokenData = newValue }
    }

    /// Whether the changes to each zone are atomic, in zones that support it.
    open var isAtomic: Bool {
        get { request.isAtomic }
        set { request.isAtomic = newValue }
    }

    /// Called with the sent fraction of a record, from 0 to 1. It is called at least once with 1 for every record.
    open var perRecordProgressBlock: ((CKRecord, Double) -> Void)? {
        get { recordBlocks.perRecordProgress }
        set { recordBlocks.perRecordProgress = newValue }
    }

    /// Called once for every record to save, with the server's record or the error.
    open var perRecordSaveBlock: ((_ recordID: CKRecord.ID, _ saveResult: Result<CKRecord, any Error>) -> Void)? {
        get { report.blocks.perSave }
        set { report.blocks.perSave = newValue }
    }

    /// Called once for every record to delete, with success or the error.
    open var perRecordDeleteBlock: ((_ recordID: CKRecord.ID, _ deleteResult: Result<Void, any Error>) -> Void)? {
        get { report.blocks.perDelete }
        set { report.blocks.perDelete = newValue }
    }

    /// Called once, at the end. If items failed, the error is a `partialFailure` with their errors by item.
    open var modifyRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { report.blocks.result }
        set { report.blocks.result = newValue }
    }

    /// Called once for every record to save, unless `perRecordSaveBlock` is set.
    @available(*, deprecated, message: "use perRecordSaveBlock")
    open var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)? {
        get { recordBlocks.perRecordCompletion }
        set { recordBlocks.perRecordCompletion = newValue }
    }

    /// Called once, at the end, with the saved records and the deleted IDs. If items failed, the error is a
    /// `partialFailure`.
    @available(*, deprecated, message: "use modifyRecordsResultBlock")
    open var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)? {
        get { report.blocks.completion }
        set { report.blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let context = makeRequestContext()
        var plan = try ModifyRecordsPlan(request.withLock { $0 }, context.errors)
        if plan.isEmpty { return }
        try context.requireAccount()
        try await send(&plan, uploading: plan.waiting, context)
        let lackingFiles = plan.takeLackingFiles()
        if !lackingFiles.isEmpty {
            do throws(CKError) {
                try await send(&plan, uploading: lackingFiles, context)
            } catch {
                // The first request may have saved other items.
                plan.refuseUnsent(error)
            }
        }
        let events = await context.openingServerRecords(of: plan.outcomes(context))
        await context.addLinks(
            to: events.compactMap { if case .save(_, let record as CKShare, nil) = $0 { record } else { nil } })
        deliver(events) { event in
            if case .save(_, let record, let error) = event { self.tellProgress(of: record, error) }
            self.report.tell(event)
        }
    }

    private func send(
        _ plan: inout ModifyRecordsPlan, uploading waiting: [ModifyRecordsPlan.Waiting],
        _ context: DatabaseRequestContext
    ) async throws(CKError) {
        if !waiting.isEmpty {
            plan.note(try await context.upload(waiting.map(\.record), uploadProgress(waiting)), of: waiting)
        }
        if let request = plan.request() { plan.note(try await context.modifyRecords(request)) }
    }

    /// Returns a callback for the upload progress of the records' files; nil without a progress block.
    private func uploadProgress(_ waiting: [ModifyRecordsPlan.Waiting]) -> TransferProgress? {
        guard recordBlocks.perRecordProgress != nil else { return nil }
        let ids = Set(waiting.map(\.record.recordID))
        let records = (recordsToSave ?? []).filter { ids.contains($0.recordID) }
        let byID = Dictionary(records.map { ($0.recordID, $0) }, uniquingKeysWith: { first, _ in first })
        return { [weak self] recordID, fraction in
            guard let self, let record = byID[recordID] else { return }
            self.deliver(CollectionOfOne(record)) { self.recordBlocks.perRecordProgress?($0, fraction) }
        }
    }

    private func tellProgress(of record: CKRecord, _ error: CKError?) {
        let blocks = recordBlocks.withLock { $0 }
        blocks.perRecordProgress?(record, 1)
        if report.blocks.perSave == nil { blocks.perRecordCompletion?(record, error) }
    }

    override func conclude(_ failure: CKError?) {
        report.conclude(failure, errorContext)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        report.releaseBlocks()
        recordBlocks.exchange(RecordBlocks())
    }
}

/// The former name of `CKModifyRecordsOperation.RecordSavePolicy`.
@available(*, deprecated, renamed: "CKModifyRecordsOperation.RecordSavePolicy")
public typealias CKRecordSavePolicy = CKModifyRecordsOperation.RecordSavePolicy
