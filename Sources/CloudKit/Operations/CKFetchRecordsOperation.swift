/// Fetches records by their IDs, from any zones of one database (CKFetchRecordsOperation, Apple's documentation).
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Request {
        var recordIDs: [CKRecord.ID]?
        var desiredKeys: [CKRecord.FieldKey]?
        var wantsCurrentUser = false
    }

    /// The blocks of the operation that are specific to records.
    private struct RecordBlocks {
        var perRecordProgress: ((CKRecord.ID, Double) -> Void)?
        var perRecordCompletion: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
    }

    private struct Item: Sendable {
        var recordID: CKRecord.ID
        var result: Result<CKRecord, CKError>
    }

    private let request = Locked(Request())
    private let report = FetchReport<CKRecord.ID, CKRecord>()
    private let recordBlocks = Locked(RecordBlocks())

    public override init() { super.init() }

    /// An operation that fetches these records.
    public convenience init(recordIDs: [CKRecord.ID]) {
        self.init()
        self.recordIDs = recordIDs
    }

    /// An operation that fetches the user record of the account. Its `recordIDs` are nil and have no effect.
    ///
    /// The program stops if this is called on a subclass, because Swift would require subclasses to declare `init()`.
    open class func fetchCurrentUserRecordOperation() -> Self {
        let operation = CKFetchRecordsOperation()
        operation.request.wantsCurrentUser = true
        guard let result = operation as? Self else {
            raise("CKFetchRecordsOperation: fetchCurrentUserRecordOperation() makes no operation of a subclass.")
        }
        return result
    }

    /// The IDs of the records to fetch; nil for an operation that fetches the current user's record.
    open var recordIDs: [CKRecord.ID]? {
        get { request.recordIDs }
        set { request.recordIDs = newValue }
    }

    /// The keys of the fields to fetch; nil for all fields.
    open var desiredKeys: [CKRecord.FieldKey]? {
        get { request.desiredKeys }
        set { request.desiredKeys = newValue }
    }

    /// Called with the received fraction of a record, from 0 to 1. It is called at least once with 1 for every record.
    open var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)? {
        get { recordBlocks.perRecordProgress }
        set { recordBlocks.perRecordProgress = newValue }
    }

    /// Called once for every record, with the record or its error.
    open var perRecordResultBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)? {
        get { report.blocks.perItem }
        set { report.blocks.perItem = newValue }
    }

    /// Called once, at the end. If items failed, the error is a `partialFailure` with their errors by item.
    open var fetchRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { report.blocks.result }
        set { report.blocks.result = newValue }
    }

    /// Called once for every record, unless `perRecordResultBlock` is set.
    @available(*, deprecated, message: "use perRecordResultBlock")
    open var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? {
        get { recordBlocks.perRecordCompletion }
        set { recordBlocks.perRecordCompletion = newValue }
    }

    /// Called once, at the end, with the fetched records. If other records failed, the error is a `partialFailure`.
    @available(*, deprecated, message: "use fetchRecordsResultBlock")
    open var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)? {
        get { report.blocks.completion }
        set { report.blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let context = makeRequestContext()
        let request = request.withLock { $0 }
        var recordIDs = request.recordIDs?.uniqued() ?? []
        if request.wantsCurrentUser {
            recordIDs = [try await context.currentUserRecordID()]
        }
        guard !recordIDs.isEmpty else { return }
        try context.requireAccount()
        let results = try await context.fetch(recordIDs, desiredKeys: request.desiredKeys, downloadProgress())
        let items = zip(recordIDs, results).map { Item(recordID: $0, result: $1) }
        deliver(items) { item in
            self.tellProgress(of: item)
            self.report.tell(item.recordID, item.result)
        }
    }

    /// Returns a callback for the download progress of the records' files; nil without a progress block.
    private func downloadProgress() -> TransferProgress? {
        guard recordBlocks.perRecordProgress != nil else { return nil }
        return { [weak self] recordID, fraction in
            guard let self else { return }
            self.deliver(CollectionOfOne(recordID)) { self.recordBlocks.perRecordProgress?($0, fraction) }
        }
    }

    private func tellProgress(of item: Item) {
        let blocks = recordBlocks.withLock { $0 }
        blocks.perRecordProgress?(item.recordID, 1)
        guard report.blocks.perItem == nil else { return }
        switch item.result {
        case .success(let record): blocks.perRecordCompletion?(record, item.recordID, nil)
        case .failure(let error): blocks.perRecordCompletion?(nil, item.recordID, error)
        }
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

extension Sequence where Element: Hashable {
    /// Returns the elements in order, without repetitions.
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
