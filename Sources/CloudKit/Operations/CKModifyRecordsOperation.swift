public import Foundation
import NephosWire

/// Saves and deletes records of one database (CKModifyRecordsOperation, Apple's documentation).
///
/// Everything goes in one request. In a zone that is atomic, and with `isAtomic` as it is, either all changes happen
/// or none: then the items that were not at fault fail with `batchRequestFailed`.
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// What of a record is sent, and whether the server compares change tags.
    public enum RecordSavePolicy: Int, Hashable, Sendable, BitwiseCopyable {
        /// The changed keys are sent; the save fails with `serverRecordChanged` if the server has another version.
        case ifServerRecordUnchanged = 0
        /// The changed keys are sent; the version is not compared.
        case changedKeys = 1
        /// All keys are sent; the version is not compared. Keys that only the server has stay.
        case allKeys = 2
    }

    /// The blocks that records have and other items have not.
    private struct RecordBlocks {
        var perRecordProgress: ((CKRecord, Double) -> Void)?
        var perRecordCompletion: ((CKRecord, (any Error)?) -> Void)?
    }

    private let request = Locked(ModifyRecordsPlan.Input())
    private let report = ModificationReport<CKRecord.ID, CKRecord>()
    private let recordBlocks = Locked(RecordBlocks())

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

    /// The records to remove; one that does not exist is no error.
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
        get { recordBlocks.perRecordProgress }
        set { recordBlocks.perRecordProgress = newValue }
    }

    /// Called once for every record to save.
    open var perRecordSaveBlock: ((_ recordID: CKRecord.ID, _ saveResult: Result<CKRecord, any Error>) -> Void)? {
        get { report.blocks.perSave }
        set { report.blocks.perSave = newValue }
    }

    /// Called once for every record to delete.
    open var perRecordDeleteBlock: ((_ recordID: CKRecord.ID, _ deleteResult: Result<Void, any Error>) -> Void)? {
        get { report.blocks.perDelete }
        set { report.blocks.perDelete = newValue }
    }

    /// Called once, at the end; if some items failed, with a `partialFailure` that has their errors by item.
    open var modifyRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { report.blocks.result }
        set { report.blocks.result = newValue }
    }

    /// Called once for every record to save, unless there is a `perRecordSaveBlock`.
    @available(*, deprecated, message: "use perRecordSaveBlock")
    open var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)? {
        get { recordBlocks.perRecordCompletion }
        set { recordBlocks.perRecordCompletion = newValue }
    }

    /// Called once, at the end, with what was saved and deleted; if some items failed, with a `partialFailure`.
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
        let waiting = plan.waiting
        if !waiting.isEmpty {
            plan.note(try await context.upload(waiting.map(\.record), uploadProgress(waiting)), of: waiting)
        }
        var answers: [RecordResult] = []
        if let request = plan.request() { answers = try await context.modifyRecords(request) }
        let events = await context.openingServerRecords(of: plan.outcomes(of: answers, context))
        await context.addLinks(
            to: events.compactMap { if case .save(_, let record as CKShare, nil) = $0 { record } else { nil } })
        deliver(events) { event in
            if case .save(_, let record, let error) = event { self.tellProgress(of: record, error) }
            self.report.tell(event)
        }
    }

    /// Tells how much of records' files was sent; nil without a listener.
    private func uploadProgress(_ waiting: [(index: Int, record: WaitingRecord)]) -> TransferProgress? {
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

/// The old name of `CKModifyRecordsOperation.RecordSavePolicy`.
@available(*, deprecated, renamed: "CKModifyRecordsOperation.RecordSavePolicy")
public typealias CKRecordSavePolicy = CKModifyRecordsOperation.RecordSavePolicy
