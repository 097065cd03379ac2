/// Fetches records by their IDs, from any zones of one database (CKFetchRecordsOperation, Apple's documentation).
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Request {
        var recordIDs: [CKRecord.ID]?
        var desiredKeys: [CKRecord.FieldKey]?
        var wantsCurrentUser = false
    }

    private struct Blocks {
        var perRecordProgress: ((CKRecord.ID, Double) -> Void)?
        var perRecordResult: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var perRecordCompletion: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
        var completion: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?
    }

    /// What the items came to, for the older completion block.
    private struct Outcome {
        var records: [CKRecord.ID: CKRecord] = [:]
        var errors: [AnyHashable: any Error] = [:]
    }

    private struct Item: Sendable {
        var recordID: CKRecord.ID
        var result: Result<CKRecord, CKError>
    }

    private let request = Locked(Request())
    private let blocks = Locked(Blocks())
    private let outcome = Locked(Outcome())

    public required override init() { super.init() }

    /// An operation that fetches these records.
    public convenience init(recordIDs: [CKRecord.ID]) {
        self.init()
        self.recordIDs = recordIDs
    }

    /// An operation that fetches the account's user record; its `recordIDs` are nil and stay without effect.
    open class func fetchCurrentUserRecordOperation() -> Self {
        let operation = Self()
        operation.request.wantsCurrentUser = true
        return operation
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

    /// Called with how much of a record was received, from 0 to 1; at least once with 1 for every record.
    open var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)? {
        get { blocks.perRecordProgress }
        set { blocks.perRecordProgress = newValue }
    }

    /// Called once for every record.
    open var perRecordResultBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)? {
        get { blocks.perRecordResult }
        set { blocks.perRecordResult = newValue }
    }

    /// Called once, at the end. Fails only with what concerns the whole operation, never with `partialFailure`.
    open var fetchRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once for every record, unless there is a `perRecordResultBlock`.
    @available(*, deprecated, message: "use perRecordResultBlock")
    open var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? {
        get { blocks.perRecordCompletion }
        set { blocks.perRecordCompletion = newValue }
    }

    /// Called once, at the end, with the records that were found; if others failed, with a `partialFailure`.
    @available(*, deprecated, message: "use fetchRecordsResultBlock")
    open var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
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
        let results = try await context.fetch(recordIDs, desiredKeys: request.desiredKeys)
        let items = zip(recordIDs, results).map { Item(recordID: $0, result: $1) }
        deliver(items) { self.hand(out: $0) }
    }

    private func hand(out item: Item) {
        let blocks = blocks.withLock { $0 }
        outcome.withLock { outcome in
            switch item.result {
            case .success(let record): outcome.records[item.recordID] = record
            case .failure(let error): outcome.errors[item.recordID] = error
            }
        }
        blocks.perRecordProgress?(item.recordID, 1)
        if let block = blocks.perRecordResult {
            block(item.recordID, item.result.mapError { $0 })
        } else {
            switch item.result {
            case .success(let record): blocks.perRecordCompletion?(record, item.recordID, nil)
            case .failure(let error): blocks.perRecordCompletion?(nil, item.recordID, error)
            }
        }
    }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        let outcome = outcome.exchange(Outcome())
        blocks.result?(failure.map { .failure($0) } ?? .success(()))
        if let failure {
            blocks.completion?(nil, failure)
        } else {
            let partial = outcome.errors.isEmpty ? nil : CKError.partialFailure(outcome.errors, errorContext)
            blocks.completion?(outcome.records, partial)
        }
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}

extension Sequence where Element: Hashable {
    /// The elements in their order, each once.
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
