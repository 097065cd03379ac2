/// Fetches zones by their IDs, or all zones of a database (CKFetchRecordZonesOperation, Apple's documentation).
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Request {
        var recordZoneIDs: [CKRecordZone.ID]?
        var wantsAll = false
    }

    private struct Blocks {
        var perZoneResult: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var completion: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?
    }

    /// What the items came to, for the older completion block.
    private struct Outcome {
        var zones: [CKRecordZone.ID: CKRecordZone] = [:]
        var errors: [AnyHashable: any Error] = [:]
    }

    private struct Item: Sendable {
        var zoneID: CKRecordZone.ID
        var result: Result<CKRecordZone, CKError>
    }

    private let request = Locked(Request())
    private let blocks = Locked(Blocks())
    private let outcome = Locked(Outcome())

    public required override init() { super.init() }

    /// An operation that fetches these zones.
    public convenience init(recordZoneIDs zoneIDs: [CKRecordZone.ID]) {
        self.init()
        recordZoneIDs = zoneIDs
    }

    /// An operation that fetches all zones of its database; its `recordZoneIDs` are nil and stay without effect.
    open class func fetchAllRecordZonesOperation() -> Self {
        let operation = Self()
        operation.request.wantsAll = true
        return operation
    }

    /// The IDs of the zones to fetch.
    open var recordZoneIDs: [CKRecordZone.ID]? {
        get { request.recordZoneIDs }
        set { request.recordZoneIDs = newValue }
    }

    /// Called once for every zone.
    open var perRecordZoneResultBlock:
        ((_ recordZoneID: CKRecordZone.ID, _ recordZoneResult: Result<CKRecordZone, any Error>) -> Void)?
    {
        get { blocks.perZoneResult }
        set { blocks.perZoneResult = newValue }
    }

    /// Called once, at the end. Fails only with what concerns the whole operation, never with `partialFailure`.
    open var fetchRecordZonesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once, at the end, with the zones that were found; if others failed, with a `partialFailure`.
    @available(*, deprecated, message: "use fetchRecordZonesResultBlock")
    open var fetchRecordZonesCompletionBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let context = makeRequestContext()
        let request = request.withLock { $0 }
        let items: [Item]
        if request.wantsAll {
            try context.requireAccount()
            items = try await context.listZones().map { Item(zoneID: $0.zoneID, result: .success($0)) }
        } else {
            let zoneIDs = request.recordZoneIDs?.uniqued() ?? []
            guard !zoneIDs.isEmpty else { return }
            try context.requireAccount()
            let results = try await context.lookupZones(zoneIDs)
            items = zip(zoneIDs, results).map { Item(zoneID: $0, result: $1) }
        }
        deliver(items) { self.hand(out: $0) }
    }

    private func hand(out item: Item) {
        outcome.withLock { outcome in
            switch item.result {
            case .success(let zone): outcome.zones[item.zoneID] = zone
            case .failure(let error): outcome.errors[item.zoneID] = error
            }
        }
        blocks.perZoneResult?(item.zoneID, item.result.mapError { $0 })
    }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        let outcome = outcome.exchange(Outcome())
        blocks.result?(failure.map { .failure($0) } ?? .success(()))
        if let failure {
            blocks.completion?(nil, failure)
        } else {
            let partial = outcome.errors.isEmpty ? nil : CKError.partialFailure(outcome.errors, errorContext)
            blocks.completion?(outcome.zones, partial)
        }
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
