/// Fetches the zones that changed or were deleted since a change token (CKFetchDatabaseChangesOperation, Apple's
/// documentation). Only private and shared databases have such changes.
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Request {
        var previousServerChangeToken: CKServerChangeToken?
        var resultsLimit = 0
        var fetchAllChanges = true
    }

    private struct Blocks {
        var changed: ((CKRecordZone.ID) -> Void)?
        var deleted: ((CKRecordZone.ID) -> Void)?
        var purged: ((CKRecordZone.ID) -> Void)?
        var deletedDueToReset: ((CKRecordZone.ID) -> Void)?
        var tokenUpdated: ((CKServerChangeToken) -> Void)?
        var result: ((Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?
        var completion: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)?
    }

    private enum Item: Sendable {
        case change(DatabaseChangeBatch.Change)
        case token(CKServerChangeToken)
    }

    private let request = Locked(Request())
    private let blocks = Locked(Blocks())
    /// The token at which the fetch ended, and whether more changes exist; nil before the end.
    private let end = Locked<(token: CKServerChangeToken, moreComing: Bool)?>(nil)

    public override init() { super.init() }

    /// An operation that fetches the changes since a token; nil fetches from the beginning.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    /// The token at which the last fetch ended; nil fetches from the beginning.
    open var previousServerChangeToken: CKServerChangeToken? {
        get { request.previousServerChangeToken }
        set { request.previousServerChangeToken = newValue }
    }

    /// The maximum number of zones per batch; 0 leaves the limit to the service.
    open var resultsLimit: Int {
        get { request.resultsLimit }
        set { request.resultsLimit = newValue }
    }

    /// Whether the operation fetches all batches. If false, it fetches one batch.
    open var fetchAllChanges: Bool {
        get { request.fetchAllChanges }
        set { request.fetchAllChanges = newValue }
    }

    /// Called once for every new zone, and for every zone with changes.
    open var recordZoneWithIDChangedBlock: ((CKRecordZone.ID) -> Void)? {
        get { blocks.changed }
        set { blocks.changed = newValue }
    }

    /// Called once for every deleted zone.
    open var recordZoneWithIDWasDeletedBlock: ((CKRecordZone.ID) -> Void)? {
        get { blocks.deleted }
        set { blocks.deleted = newValue }
    }

    /// Called instead of `recordZoneWithIDWasDeletedBlock` for every zone that the user deleted with all of its data.
    open var recordZoneWithIDWasPurgedBlock: ((CKRecordZone.ID) -> Void)? {
        get { blocks.purged }
        set { blocks.purged = newValue }
    }

    /// Called instead of `recordZoneWithIDWasDeletedBlock` for every zone that was deleted because the user reset
    /// encrypted data.
    open var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: ((CKRecordZone.ID) -> Void)? {
        get { blocks.deletedDueToReset }
        set { blocks.deletedDueToReset = newValue }
    }

    /// Called after every batch except the last. The token covers all changes delivered so far.
    open var changeTokenUpdatedBlock: ((CKServerChangeToken) -> Void)? {
        get { blocks.tokenUpdated }
        set { blocks.tokenUpdated = newValue }
    }

    /// Called once, at the end. On success it receives the token to store, and whether more changes exist.
    open var fetchDatabaseChangesResultBlock:
        (
            (_ operationResult: Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void
        )?
    {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once, at the end, with the token to store, whether more changes exist, and the error, which is nil on
    /// success.
    @available(*, deprecated, message: "use fetchDatabaseChangesResultBlock")
    open var fetchDatabaseChangesCompletionBlock: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let context = makeRequestContext()
        try context.requireChangeFeed()
        let request = request.withLock { $0 }
        var token = request.previousServerChangeToken
        var fetchEnd: String?
        while true {
            let batch = try await context.databaseChanges(
                since: token, resultsLimit: request.resultsLimit, fetchEnd: fetchEnd)
            var items = batch.changes.map { Item.change($0) }
            let goesOn = batch.moreComing && request.fetchAllChanges
            if goesOn { items.append(.token(batch.serverChangeToken)) }
            deliver(items) { self.hand(out: $0) }
            guard goesOn else {
                end.exchange((batch.serverChangeToken, batch.moreComing))
                return
            }
            guard batch.serverChangeToken != token else {
                throw CKError(
                    .internalError, "The service has more changes but its token does not move.", context.errors)
            }
            (token, fetchEnd) = (batch.serverChangeToken, batch.fetchEnd)
        }
    }

    private func hand(out item: Item) {
        let blocks = blocks.withLock { $0 }
        switch item {
        case .change(.changed(let zoneID)): blocks.changed?(zoneID)
        case .change(.deleted(let zoneID, let reason)):
            switch reason {
            case .deleted: blocks.deleted?(zoneID)
            case .purged: (blocks.purged ?? blocks.deleted)?(zoneID)
            case .encryptedDataReset: (blocks.deletedDueToReset ?? blocks.deleted)?(zoneID)
            }
        case .token(let token): blocks.tokenUpdated?(token)
        }
    }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        let end = end.exchange(nil)
        if failure == nil, let end {
            blocks.result?(.success((end.token, end.moreComing)))
            blocks.completion?(end.token, end.moreComing, nil)
        } else {
            let error = failure ?? CKError(.internalError, "The fetch ended without a token.", errorContext)
            blocks.result?(.failure(error))
            blocks.completion?(nil, false, error)
        }
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
