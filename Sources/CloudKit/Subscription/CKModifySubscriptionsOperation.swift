import NephosWire

/// Saves and deletes subscriptions (CKModifySubscriptionsOperation, Apple's documentation). Saving one whose ID is taken
/// replaces the one that has it.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Request {
        var subscriptionsToSave: [CKSubscription]?
        var subscriptionIDsToDelete: [CKSubscription.ID]?
    }

    private struct Blocks {
        var perSave: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
        var perDelete: ((CKSubscription.ID, Result<Void, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var completion: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    }

    /// What the items came to, for the older completion block.
    private struct Outcome {
        var saved: [CKSubscription] = []
        var deleted: [CKSubscription.ID] = []
        var errors: [AnyHashable: any Error] = [:]
    }

    private enum Item: Sendable {
        case save(CKSubscription, CKError?)
        case delete(CKSubscription.ID, CKError?)
    }

    private let request = Locked(Request())
    private let blocks = Locked(Blocks())
    private let outcome = Locked(Outcome())

    public override init() { super.init() }

    /// An operation with something to do; at least one of the two should be given.
    public convenience init(
        subscriptionsToSave: [CKSubscription]? = nil, subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    ) {
        self.init()
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    /// The subscriptions to save.
    open var subscriptionsToSave: [CKSubscription]? {
        get { request.subscriptionsToSave }
        set { request.subscriptionsToSave = newValue }
    }

    /// The IDs of the subscriptions to delete.
    open var subscriptionIDsToDelete: [CKSubscription.ID]? {
        get { request.subscriptionIDsToDelete }
        set { request.subscriptionIDsToDelete = newValue }
    }

    /// Called once for every subscription to save.
    open var perSubscriptionSaveBlock:
        ((_ subscriptionID: CKSubscription.ID, _ saveResult: Result<CKSubscription, any Error>) -> Void)?
    {
        get { blocks.perSave }
        set { blocks.perSave = newValue }
    }

    /// Called once for every subscription to delete.
    open var perSubscriptionDeleteBlock:
        ((_ subscriptionID: CKSubscription.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    {
        get { blocks.perDelete }
        set { blocks.perDelete = newValue }
    }

    /// Called once, at the end. Fails only with what concerns the whole operation, never with `partialFailure`.
    open var modifySubscriptionsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once, at the end, with what was saved and deleted; if some items failed, with a `partialFailure`.
    @available(*, deprecated, message: "use modifySubscriptionsResultBlock")
    open var modifySubscriptionsCompletionBlock: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
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
        // Of two with one ID the last is what the service ends up with.
        let sent = Dictionary(saved.map { ($0.subscriptionID, $0) }) { $1 }
        var errors: [CKSubscription.ID: CKError] = [:]
        var operations: [SubscriptionOperation] = []
        var ids: [CKSubscription.ID] = []
        for id in saved.map(\.subscriptionID).uniqued() {
            guard let subscription = sent[id] else { continue }
            do throws(PredicateRefusal) {
                operations.append(.update(try subscription.wireValue()))
                ids.append(id)
            } catch {
                errors[id] = CKError(.invalidArguments, error.description, context.errors)
            }
        }
        operations += deletedIDs.map { .delete(subscriptionID: $0) }
        ids += deletedIDs
        if !operations.isEmpty {
            for (id, error) in zip(ids, try await context.modifySubscriptions(operations)) { errors[id] = error }
        }
        let failed = errors
        let items =
            saved.map { Item.save($0, failed[$0.subscriptionID]) } + deletedIDs.map { Item.delete($0, failed[$0]) }
        deliver(items) { self.hand(out: $0) }
    }

    private func hand(out item: Item) {
        let blocks = blocks.withLock { $0 }
        switch item {
        case .save(let subscription, let error):
            let id = subscription.subscriptionID
            outcome.withLock { outcome in
                if let error { outcome.errors[id] = error } else { outcome.saved.append(subscription) }
            }
            blocks.perSave?(id, error.map { .failure($0) } ?? .success(subscription))
        case .delete(let id, let error):
            outcome.withLock { outcome in
                if let error { outcome.errors[id] = error } else { outcome.deleted.append(id) }
            }
            blocks.perDelete?(id, error.map { .failure($0) } ?? .success(()))
        }
    }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        let outcome = outcome.exchange(Outcome())
        blocks.result?(failure.map { .failure($0) } ?? .success(()))
        if let failure {
            blocks.completion?(nil, nil, failure)
        } else {
            let partial = outcome.errors.isEmpty ? nil : CKError.partialFailure(outcome.errors, errorContext)
            blocks.completion?(outcome.saved, outcome.deleted, partial)
        }
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
