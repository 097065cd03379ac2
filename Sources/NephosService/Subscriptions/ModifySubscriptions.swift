import NephosStorage
import NephosWire

/// `subscriptions/modify`: saves and deletes what the caller wants to be told of in a database. Every operation stands
/// for itself.
struct ModifySubscriptions {
    let request: ModifySubscriptionsRequest
    let caller: Caller
    let container: String
    let environment: ServiceEnvironment
    let bounds: QueryBounds
    let watched: WatchedDatabases
    let account: AccountRow

    init(
        _ request: ModifySubscriptionsRequest, caller: Caller, container: String, environment: ServiceEnvironment,
        configuration: ServiceConfiguration, watched: WatchedDatabases
    ) throws(ServiceError) {
        self.request = request
        self.caller = caller
        self.container = container
        self.environment = environment
        self.watched = watched
        bounds = configuration.queries
        account = try caller.requireAccount()
        let limit = configuration.isStrict ? Limits.strictOperationsPerRequest : Limits.operationsPerRequest
        if request.operations.count > limit {
            throw .limitExceeded("number of operations exceeds the limit of \(limit)")
        }
    }

    func apply(in transaction: any StorageTransaction) throws -> SubscriptionsResponse {
        SubscriptionsResponse(
            subscriptions: try request.operations.map { operation in
                do {
                    return try apply(operation, transaction)
                } catch let error as ServiceError {
                    var dictionary = error.dictionary(requestID: caller.requestID)
                    dictionary.subscriptionID = operation.subscriptionID
                    return .failure(dictionary)
                }
            })
    }

    private func apply(
        _ operation: SubscriptionOperation, _ transaction: any StorageTransaction
    ) throws -> SubscriptionResult {
        switch operation {
        case .delete(let id):
            guard
                try transaction.removeSubscription(
                    owner: caller.subscriptionOwner(account), account: account.id, id: id)
            else { throw ServiceError.subscriptionNotFound }
            return .deleted(subscriptionID: id)
        case .create(let subscription):
            // The same ID again is the same subscription (CloudKit Web Services, subscriptions/modify).
            if let id = subscription.subscriptionID,
                let row = try transaction.subscription(
                    owner: caller.subscriptionOwner(account), account: account.id, id: id)
            {
                return .subscription(try SubscriptionRules.dictionary(row))
            }
            return .subscription(try save(subscription, transaction))
        case .update(let subscription):
            return .subscription(try save(subscription, transaction))
        }
    }

    private func save(
        _ subscription: SubscriptionDictionary, _ transaction: any StorageTransaction
    ) throws -> SubscriptionDictionary {
        try SubscriptionRules.check(subscription, scope: caller.scope)
        var subscription = subscription
        let id = subscription.subscriptionID ?? environment.makeUUID()
        subscription.subscriptionID = id
        let owner = caller.subscriptionOwner(account)
        let zone = try zone(of: &subscription, transaction)
        if let query = subscription.query { subscription.query = try fitted(query, transaction) }
        let row = SubscriptionRow(
            owner: owner, account: account.id, id: id,
            recordType: subscription.query?.recordType ?? subscription.recordType ?? "", zone: zone,
            body: subscription.encoded())
        guard row.body.count <= Limits.subscriptionSize else {
            throw ServiceError.limitExceeded(
                "the subscription holds \(row.body.count) bytes; at most \(Limits.subscriptionSize) are allowed")
        }
        let others = try transaction.subscriptions(owner: owner, account: account.id)
        let same = try others.first { other in
            guard other.id != id, other.recordType == row.recordType, other.zone == zone else { return false }
            return SubscriptionRules.isDuplicate(subscription, try SubscriptionRules.dictionary(other))
        }
        if let same { throw ServiceError.duplicateSubscription(of: same.id) }
        // Before the commit: the next save must not overlook it.
        watched.insert(owner)
        try transaction.put(row)
        return subscription
    }

    /// The id of the zone that a subscription is about, 0 for all. Fills in whose zone it is.
    private func zone(
        of subscription: inout SubscriptionDictionary, _ reader: any StorageReader
    ) throws -> Int64 {
        if subscription.subscriptionType == .database || subscription.zoneWide { return 0 }
        let address = caller.address(subscription.zoneID)
        guard let zone = try ZoneRegistry.find(address, owner: caller.owner, reader) else {
            throw ServiceError.zoneNotFound(address.zoneName)
        }
        if subscription.subscriptionType == .zone, !ZoneRules.hasChangeFeed(zone.name) {
            throw ServiceError.invalid(
                "the default zone cannot have a subscription of type 'zone', as it has no change feed")
        }
        if subscription.zoneID != nil { subscription.zoneID = caller.zoneID(zone.name) }
        return zone.key.id
    }

    /// The query with its values in the types of their fields; what could not be queried cannot be subscribed to.
    private func fitted(_ query: Query, _ reader: any StorageReader) throws -> Query {
        try QueryValidation(schema: try Schema(reader), caller: caller, container: container, bounds: bounds)
            .fitted(query)
    }
}

/// `subscriptions/list` and `subscriptions/lookup`.
enum SubscriptionLookup {
    static func list(
        _ caller: Caller, _ account: AccountRow, _ reader: any StorageReader
    ) throws -> SubscriptionsResponse {
        let rows = try reader.subscriptions(owner: caller.subscriptionOwner(account), account: account.id)
        return SubscriptionsResponse(
            subscriptions: try rows.map { .subscription(try SubscriptionRules.dictionary($0)) })
    }

    static func lookup(
        _ request: LookupSubscriptionsRequest, _ caller: Caller, _ account: AccountRow, _ reader: any StorageReader
    ) throws -> SubscriptionsResponse {
        let owner = caller.subscriptionOwner(account)
        return SubscriptionsResponse(
            subscriptions: try request.subscriptionIDs.map { id in
                if let row = try reader.subscription(owner: owner, account: account.id, id: id) {
                    return .subscription(try SubscriptionRules.dictionary(row))
                }
                var error = ServiceError.subscriptionNotFound.dictionary(requestID: caller.requestID)
                error.subscriptionID = id
                return .failure(error)
            })
    }
}

extension Caller {
    /// The owner under which subscriptions to the database are kept. The shared database has no rows of its own; what an
    /// account subscribes to there is kept under its negative number.
    func subscriptionOwner(_ account: AccountRow) -> OwnerID {
        owner ?? OwnerID(rawValue: -account.id)
    }
}
