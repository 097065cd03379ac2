/// Fetches zones by their IDs, or all zones of a database (CKFetchRecordZonesOperation, Apple's documentation).
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Request {
        var recordZoneIDs: [CKRecordZone.ID]?
        var wantsAll = false
    }

    private struct Item: Sendable {
        var zoneID: CKRecordZone.ID
        var result: Result<CKRecordZone, CKError>
    }

    private let request = Locked(Request())
    private let report = FetchReport<CKRecordZone.ID, CKRecordZone>()

    public override init() { super.init() }

    /// An operation that fetches these zones.
    public convenience init(recordZoneIDs zoneIDs: [CKRecordZone.ID]) {
        self.init()
        recordZoneIDs = zoneIDs
    }

    /// An operation that fetches all zones of its database. Its `recordZoneIDs` are nil and have no effect.
    ///
    /// The program stops if this is called on a subclass, because Swift would require subclasses to declare `init()`.
    open class func fetchAllRecordZonesOperation() -> Self {
        let operation = CKFetchRecordZonesOperation()
        operation.request.wantsAll = true
        guard let result = operation as? Self else {
            raise("CKFetchRecordZonesOperation: fetchAllRecordZonesOperation() makes no operation of a subclass.")
        }
        return result
    }

    /// The IDs of the zones to fetch; nil for all zones of the database.
    open var recordZoneIDs: [CKRecordZone.ID]? {
        get { request.recordZoneIDs }
        set { request.recordZoneIDs = newValue }
    }

    /// Called once for every zone, with the zone or its error.
    open var perRecordZoneResultBlock:
        ((_ recordZoneID: CKRecordZone.ID, _ recordZoneResult: Result<CKRecordZone, any Error>) -> Void)?
    {
        get { report.blocks.perItem }
        set { report.blocks.perItem = newValue }
    }

    /// Called once, at the end. If items failed, the error is a `partialFailure` with their errors by item.
    open var fetchRecordZonesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { report.blocks.result }
        set { report.blocks.result = newValue }
    }

    /// Called once, at the end, with the fetched zones. If other zones failed, the error is a `partialFailure`.
    @available(*, deprecated, message: "use fetchRecordZonesResultBlock")
    open var fetchRecordZonesCompletionBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)? {
        get { report.blocks.completion }
        set { report.blocks.completion = newValue }
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
        deliver(items) { self.report.tell($0.zoneID, $0.result) }
    }

    override func conclude(_ failure: CKError?) {
        report.conclude(failure, errorContext)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        report.releaseBlocks()
    }
}
