/// An operation that fetches subscriptions by their IDs, or all subscriptions of the account in a database
/// (CKFetchSubscriptionsOperation, Apple's documentation).
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Request {
        var subscriptionIDs: [CKSubscription.ID]?
        var wantsAll = false
    }

    private struct Item: Sendable {
        var id: CKSubscription.ID
        var result: Result<CKSubscription, CKError>
    }

    private let request = Locked(Request())
    private let report = FetchReport<CKSubscription.ID, CKSubscription>()

    public override init() { super.init() }

    /// Creates an operation that fetches the subscriptions with the given IDs.
    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init()
        self.subscriptionIDs = subscriptionIDs
    }

    /// Creates an operation that fetches all subscriptions. Its `subscriptionIDs` is nil, and is ignored.
    ///
    /// Stops the program when called on a subclass, because Swift would require a `required init()` to create the
    /// subclass.
    open class func fetchAllSubscriptionsOperation() -> Self {
        let operation = CKFetchSubscriptionsOperation()
        operation.request.wantsAll = true
        guard let result = operation as? Self else {
            raise("CKFetchSubscriptionsOperation: fetchAllSubscriptionsOperation() makes no operation of a subclass.")
        }
        return result
    }

    /// The IDs of the subscriptions to fetch; nil for none, except that `fetchAllSubscriptionsOperation()` fetches all.
    open var subscriptionIDs: [CKSubscription.ID]? {
        get { request.subscriptionIDs }
        set { request.subscriptionIDs = newValue }
    }

    /// Called once for each subscription, with the subscription or its error.
    open var perSubscriptionResultBlock:
        ((_ subscriptionID: CKSubscription.ID, _ subscriptionResult: Result<CKSubscription, any Error>) -> Void)?
    {
        get { report.blocks.perItem }
        set { report.blocks.perItem = newValue }
    }

    /// Called once, at the operation's end. If some items failed, the error is a `partialFailure` that contains their
    /// errors by item.
    open var fetchSubscriptionsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { report.blocks.result }
        set { report.blocks.result = newValue }
    }

    /// Called once, at the operation's end, with the fetched subscriptions. If others failed, the error is a
    /// `partialFailure`.
    @available(*, deprecated, message: "use fetchSubscriptionsResultBlock")
    open var fetchSubscriptionCompletionBlock: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)? {
        get { report.blocks.completion }
        set { report.blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let context = makeRequestContext()
        let request = request.withLock { $0 }
        let items: [Item]
        if request.wantsAll {
            items = try await context.listSubscriptions().map { Item(id: $0.subscriptionID, result: .success($0)) }
        } else {
            let ids = request.subscriptionIDs?.uniqued() ?? []
            guard !ids.isEmpty else { return }
            items = zip(ids, try await context.lookupSubscriptions(ids)).map { Item(id: $0, result: $1) }
        }
        deliver(items) { self.report.tell($0.id, $0.result) }
    }

    override func conclude(_ failure: CKError?) {
        report.conclude(failure, errorContext)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        report.releaseBlocks()
    }
}
