// Conveniences for subscriptions. Each runs one operation.

extension CKDatabase {
    // MARK: All subscriptions, and one

    func fetchEverySubscription(_ handler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void) {
        runFetchAllSubscriptions { result in hand(result, to: handler) }
    }

    func everySubscription() async throws -> [CKSubscription] {
        try await resultOfOperation { runFetchAllSubscriptions($0) }
    }

    func fetchSubscription(
        _ id: CKSubscription.ID, _ handler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        runFetchSubscriptions([id]) { result in hand(result.item(id), to: handler) }
    }

    func saveSubscription(
        _ subscription: CKSubscription, _ handler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        runModifySubscriptions(saving: [subscription], deleting: []) { result in
            hand(result.item { $0.saveResults[subscription.subscriptionID] }, to: handler)
        }
    }

    func deleteSubscription(
        _ id: CKSubscription.ID, _ handler: @escaping @Sendable (CKSubscription.ID?, (any Error)?) -> Void
    ) {
        runModifySubscriptions(saving: [], deleting: [id]) { result in
            hand(result.item { $0.deleteResults[id] }.map { id }, to: handler)
        }
    }

    // MARK: Several subscriptions

    /// Fetches subscriptions. Each ID gets a result of its own.
    @preconcurrency
    public func fetch(
        withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>) -> Void
    ) {
        runFetchSubscriptions(subscriptionIDs, completionHandler)
    }

    /// Fetches subscriptions. Each ID gets a result of its own.
    /// - Throws: `CKError` for a failure of the whole request.
    public func subscriptions(
        for ids: [CKSubscription.ID]
    ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        try await resultOfOperation { runFetchSubscriptions(ids, $0) }
    }

    /// Saves and deletes subscriptions. Each ID gets a result of its own.
    @preconcurrency
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
                        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        runModifySubscriptions(saving: subscriptionsToSave, deleting: subscriptionIDsToDelete, completionHandler)
    }

    /// Saves and deletes subscriptions. Each ID gets a result of its own.
    /// - Throws: `CKError` for a failure of the whole request, never for failures of single items.
    @discardableResult
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
    ) async throws -> (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    ) {
        try await resultOfOperation {
            runModifySubscriptions(saving: subscriptionsToSave, deleting: subscriptionIDsToDelete, $0)
        }
    }

    // MARK: Underlying operations

    private typealias FetchResults = [CKSubscription.ID: Result<CKSubscription, any Error>]
    private typealias ModifyResults = (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    )

    @discardableResult
    private func runFetchAllSubscriptions(
        _ completion: @escaping @Sendable (Result<[CKSubscription], any Error>) -> Void
    ) -> CKOperation {
        let subscriptions = Locked<[CKSubscription]>([])
        let operation = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
        operation.perSubscriptionResultBlock = { _, result in
            if case .success(let subscription) = result { subscriptions.withLock { $0.append(subscription) } }
        }
        operation.fetchSubscriptionsResultBlock = { outcome in
            completion(outcome.asideFromItems.map { subscriptions.withLock { $0 } })
        }
        run(operation)
        return operation
    }

    @discardableResult
    private func runFetchSubscriptions(
        _ ids: [CKSubscription.ID], _ completion: @escaping @Sendable (Result<FetchResults, any Error>) -> Void
    ) -> CKOperation {
        let results = Locked<FetchResults>([:])
        let operation = CKFetchSubscriptionsOperation(subscriptionIDs: ids)
        operation.perSubscriptionResultBlock = { id, result in results.withLock { $0[id] = result } }
        operation.fetchSubscriptionsResultBlock = { outcome in
            completion(outcome.asideFromItems.map { results.withLock { $0 } })
        }
        run(operation)
        return operation
    }

    @discardableResult
    private func runModifySubscriptions(
        saving subscriptions: [CKSubscription], deleting ids: [CKSubscription.ID],
        _ completion: @escaping @Sendable (Result<ModifyResults, any Error>) -> Void
    ) -> CKOperation {
        let results = Locked<ModifyResults>(([:], [:]))
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: subscriptions, subscriptionIDsToDelete: ids)
        operation.perSubscriptionSaveBlock = { id, result in results.withLock { $0.saveResults[id] = result } }
        operation.perSubscriptionDeleteBlock = { id, result in results.withLock { $0.deleteResults[id] = result } }
        operation.modifySubscriptionsResultBlock = { outcome in
            completion(outcome.asideFromItems.map { results.withLock { $0 } })
        }
        run(operation)
        return operation
    }
}
