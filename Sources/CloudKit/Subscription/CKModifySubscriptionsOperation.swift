import NephosWire

/// An operation that saves and deletes subscriptions (CKModifySubscriptionsOperation, Apple's documentation). Saving a
/// subscription replaces an existing subscription with the same ID.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Request {
        var subscriptionsToSave: [CKSubscription]?
        var subscriptionIDsToDelete: [CKSubscription.ID]?
    }

    private typealias Event = ModificationReport<CKSubscription.ID, CKSubscription>.Event

    private let request = Locked(Request())
    private let report = ModificationReport<CKSubscription.ID, CKSubscription>()

    public override init() { super.init() }

    /// Creates an operation that saves and deletes subscriptions. At least one of the two lists should not be nil.
    public convenience init(
        subscriptionsToSave: [CKSubscription]? = nil, subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    ) {
        self.init()
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    /// The subscriptions to create or replace; nil for none.
    open var subscriptionsToSave: [CKSubscription]? {
        get { request.subscriptionsToSave }
        set { request.subscriptionsToSave = newValue }
    }

    /// The IDs of the subscriptions to delete; nil for none.
    open var subscriptionIDsToDelete: [CKSubscription.ID]? {
        get { request.subscriptionIDsToDelete }
        set { request.subscriptionIDsToDelete = newValue }
    }

    /// Called once for each subscription to save, with the saved subscription or the error.
    open var perSubscriptionSaveBlock:
        ((_ subscriptionID: CKSubscription.ID, _ saveResult: Result<CKSubscription, any Error>) -> Void)?
    {
        get { report.blocks.perSave }
        set { report.blocks.perSave = newValue }
    }

    /// Called once for each subscription to delete, with its success or error.
    open var perSubscriptionDeleteBlock:
        ((_ subscriptionID: CKSubscription.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    {
        get { report.blocks.perDelete }
        set { report.blocks.perDelete = newValue }
    }

    /// Called once, at the operation's end. If some items failed, the error is a `partialFailure` that contains their
    /// errors by item.
    open var modifySubscriptionsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { report.blocks.result }
        set { report.blocks.result = newValue }
    }

    /// Called once, at the operation's end, with the saved subscriptions and the IDs of the deleted ones. If some items
    /// failed, the error is a `partialFailure`.
    @available(*, deprecated, message: "use modifySubscriptionsResultBlock")
    open var modifySubscriptionsCompletionBlock: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)? {
        get { report.blocks.completion }
        set { report.blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let context = makeRequestContext()
        let request = request.withLock { $0 }
        let saved = request.subscriptionsToSave ?? []
        let deletedIDs = (request.subscriptionIDsToDelete ?? []).uniqued()
        let savedIDs = Set(saved.map(\.subscriptionID))
        if let both = deletedIDs.first(where: savedIDs.contains) {
            throw CKError(
                .invalidArguments, "You can't save and delete the same subscription: \(both)", context.errors)
        }
        // If two subscriptions have the same ID, the service stores the last one.
        let sent = Dictionary(saved.map { ($0.subscriptionID, $0) }) { $1 }
        var errors: [CKSubscription.ID: CKError] = [:]
        // Deletions come first, so that a query subscription can replace an equivalent one.
        var operations = deletedIDs.map { SubscriptionOperation.delete(subscriptionID: $0) }
        var ids = deletedIDs
        for id in saved.map(\.subscriptionID).uniqued() {
            guard let subscription = sent[id] else { continue }
            do throws(PredicateRefusal) {
                operations.append(.update(try subscription.wireValue()))
                ids.append(id)
            } catch {
                errors[id] = CKError(.invalidArguments, error.description, context.errors)
            }
        }
        if !operations.isEmpty {
            for (id, error) in zip(ids, try await context.modifySubscriptions(operations)) { errors[id] = error }
        }
        let failed = errors
        let items =
            saved.map { Event.save($0.subscriptionID, $0, failed[$0.subscriptionID]) }
            + deletedIDs.map { Event.delete($0, failed[$0]) }
        deliver(items) { self.report.tell($0) }
    }

    override func conclude(_ failure: CKError?) {
        report.conclude(failure, errorContext)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        report.releaseBlocks()
    }
}
