import NephosWire

extension DatabaseRequestContext {
    /// Fails unless there is an account, because subscriptions belong to an account even in the public database.
    private func requireSubscriber() throws(CKError) {
        guard session.service.hasAccount else { throw session.noAccount(errors) }
    }

    /// Sends subscriptions/list. Returns all subscriptions of the account in the database.
    func listSubscriptions() async throws(CKError) -> [CKSubscription] {
        try requireSubscriber()
        async let user = session.userRecordName(call)
        let results = try await subscriptions { () throws(ServiceFailure) in
            try await session.service.send(.listSubscriptions, call)
        }
        let name = await user
        var found: [CKSubscription] = []
        for case .subscription(let wire) in results { found.append(try subscription(wire, name)) }
        return found
    }

    /// Sends subscriptions/lookup. Returns one result for each ID.
    func lookupSubscriptions(
        _ ids: [CKSubscription.ID]
    ) async throws(CKError) -> [Result<CKSubscription, CKError>] {
        try requireSubscriber()
        async let user = session.userRecordName(call)
        let request = LookupSubscriptionsRequest(subscriptionIDs: ids)
        let results = try await subscriptions { () throws(ServiceFailure) in
            try await session.service.send(.lookupSubscriptions, request, call)
        }
        guard results.count == ids.count else { throw mismatch(results.count, ids.count) }
        let name = await user
        return results.map { result in
            switch result {
            case .subscription(let wire): Result { () throws(CKError) in try subscription(wire, name) }
            case .deleted: .failure(CKError(.unknownItem, "Subscription not found", errors))
            case .failure(let error): .failure(CKError(error, errors))
            }
        }
    }

    /// Sends subscriptions/modify. Returns the error of each operation; nil for one that succeeded.
    func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws(CKError) -> [CKError?] {
        try requireSubscriber()
        let request = ModifySubscriptionsRequest(operations: operations)
        let results = try await subscriptions { () throws(ServiceFailure) in
            try await session.service.send(.modifySubscriptions, request, call)
        }
        guard results.count == operations.count else { throw mismatch(results.count, operations.count) }
        return results.map { result in
            if case .failure(let error) = result { CKError(error, errors) } else { nil }
        }
    }

    private func subscription(_ wire: SubscriptionDictionary, _ user: String?) throws(CKError) -> CKSubscription {
        guard let made = CKSubscription.subscription(wire: wire, currentUserRecordName: user) else {
            throw CKError(.internalError, "The service sent a subscription that lacks what its type needs.", errors)
        }
        return made
    }

    private func subscriptions(
        _ request: () async throws(ServiceFailure) -> SubscriptionsResponse
    ) async throws(CKError) -> [SubscriptionResult] {
        do throws(ServiceFailure) {
            return try await request().subscriptions
        } catch {
            throw CKError(error, errors)
        }
    }
}
