/// Fetches records by their IDs, from any zones of one database (CKFetchRecordsOperation, Apple's documentation).
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Request {
        var recordIDs: [CKRecord.ID]?
        var desiredKeys: [CKRecord.FieldKey]?
        var wantsCurrentUser = false
    }

    /// The blocks specific to records.
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

    /// An operation that fetches the account's user record; its `recordIDs` are nil and have no effect.
    ///
    /// Stops the program when called on a subclass: Swift would require subclasses to declare `init()`.
    open class func fetchCurrentUserRecordOperation() -> Self {
        let operation = CKFetchRecordsOperation()
        operation.request.wantsCurrentUser = true
        guard let result = operation as? Self else {
            raise("CKFetchRecordsOperation: fetchCurrentUserRecordOperation() makes no operation of a subclass.")
        }
        return result
    }

    /// The IDs of the records to fetch.
    open var recordIDs: [CKRecord.ID]? {
        get { request.recordIDs }
        set { request.recordIDs = newValue }
    }

    /// The keys whose values are fetched; nil means all of them.
    open var desiredKeys: [CKRecord.FieldKey]? {
        get { request.desiredKeys }
        set { request.desiredKeys = newValue }
    }

    /// Called with the received fraction of a record, from 0 to 1; at least once with 1 for every record.
    open var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)? {
        get { recordBlocks.perRecordProgress }
        set { recordBlocks.perRecordProgress = newValue }
    }

    /// Called once for every record.
    open var perRecordResultBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)? {
        get { report.blocks.perItem }
        set { report.blocks.perItem = newValue }
    }

    /// Called once, at the end; if some items failed, with a `partialFailure` that has their errors by item.
    open var fetchRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { report.blocks.result }
        set { report.blocks.result = newValue }
    }

    /// Called once for every record, unless there is a `perRecordResultBlock`.
    @available(*, deprecated, message: "use perRecordResultBlock")
    open var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? {
        get { recordBlocks.perRecordCompletion }
        set { recordBlocks.perRecordCompletion = newValue }
    }

    /// Called once, at the end, with the found records; if other records failed, with a `partialFailure`.
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

    /// Returns a callback for the download progress of records' files; nil without a progress block.
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
    /// Returns the unique elements in order.
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
