import NephosStorage
import NephosWire

/// `subscriptions/modify`: saves and deletes the caller's subscriptions to a database. The operations of a request are
/// independent of each other.
struct ModifySubscriptions {
    let request: ModifySubscriptionsRequest
    let caller: Caller
    let container: String
    let environment: ServiceEnvironment
    let bounds: QueryBounds
    let watched: SubscriptionIndex
    let account: AccountRow

    init(
        _ request: ModifySubscriptionsRequest, caller: Caller, container: String, environment: ServiceEnvironment,
        configuration: ServiceConfiguration, watched: SubscriptionIndex
    ) throws(ServiceError) {
        self.request = request
        self.caller = caller
        self.container = container
        self.environment = environment
        self.watched = watched
        bounds = configuration.queries
        account = try caller.requireAccount()
        let limit = configuration.operationsPerRequest
        if request.operations.count > limit {
            throw .limitExceeded("number of operations exceeds the limit of \(limit)")
        }
    }

    func apply(_ schemas: SchemaCatalog, in transaction: StorageTransaction) throws -> SubscriptionsResponse {
        // Read by the first save alone, because its cost is that of all subscriptions.
        var known: KnownSubscriptions?
        var stored: Schema?
        return SubscriptionsResponse(
            subscriptions: try request.operations.map { operation in
                do {
                    return try apply(operation, schemas, &stored, &known, transaction)
                } catch let error as ServiceError {
                    var dictionary = error.dictionary(requestID: caller.requestID)
                    dictionary.subscriptionID = operation.subscriptionID
                    return .failure(dictionary)
                }
            })
    }

    private func apply(
        _ operation: SubscriptionOperation, _ schemas: SchemaCatalog, _ stored: inout Schema?,
        _ known: inout KnownSubscriptions?, _ transaction: StorageTransaction
    ) throws -> SubscriptionResult {
        switch operation {
        case .delete(let id):
            guard id.isStorable,
                try transaction.removeSubscription(
                    owner: caller.subscriptionOwner(account), account: account.id, id: id)
            else { throw ServiceError.subscriptionNotFound }
            known?.remove(id)
            return .deleted(subscriptionID: id)
        case .create(let subscription):
            // A save with an existing ID is idempotent (CloudKit Web Services, subscriptions/modify).
            if let id = subscription.subscriptionID, id.isStorable,
                let row = try transaction.subscription(
                    owner: caller.subscriptionOwner(account), account: account.id, id: id)
            {
                return .subscription(try SubscriptionRules.dictionary(row))
            }
            return .subscription(try save(subscription, schemas, &stored, &known, transaction))
        case .update(let subscription):
            return .subscription(try save(subscription, schemas, &stored, &known, transaction))
        }
    }

    private func save(
        _ subscription: SubscriptionDictionary, _ schemas: SchemaCatalog, _ stored: inout Schema?,
        _ others: inout KnownSubscriptions?, _ transaction: StorageTransaction
    ) throws -> SubscriptionDictionary {
        try SubscriptionRules.check(subscription, scope: caller.scope)
        var subscription = subscription
        let id = subscription.subscriptionID ?? environment.makeUUID()
        subscription.subscriptionID = id
        let owner = caller.subscriptionOwner(account)
        let zone = try zone(of: &subscription, transaction)
        if let query = subscription.query {
            subscription.query = try schemas.deciding(asOf: schemas.now, transaction, &stored) {
                schema throws(ServiceError) in
                try RecordPermissions(caller.scope, account: account, schema).checkMaySubscribe(to: query.recordType)
                return try fitted(query, schema)
            }
        }
        let row = try row(of: subscription, id, zone, transaction)
        var known =
            try others
            ?? KnownSubscriptions(transaction.subscriptions(owner: owner, account: account.id))
        defer { others = known }
        if let same = known.duplicate(of: subscription, zone: zone) {
            throw ServiceError.duplicateSubscription(of: same)
        }
        try known.checkRoom(for: id, size: row.body.count)
        // The type is inserted before the commit, so that the next save notices the subscription.
        watched.insert(row.recordType, in: owner)
        try transaction.insertSubscribedType(row.recordType, owner: owner)
        try transaction.put(row)
        known.insert(subscription, zone: zone, size: row.body.count)
        return subscription
    }

    private func row(
        of subscription: SubscriptionDictionary, _ id: String, _ zone: Int64, _ transaction: StorageTransaction
    ) throws -> SubscriptionRow {
        let row = SubscriptionRow(
            owner: caller.subscriptionOwner(account), account: account.id, id: id,
            recordType: matchedType(of: subscription), zone: zone, body: subscription.encoded(),
            // A shared database has changes of several owners.
            since: caller.scope == .shared
                ? try transaction.nextSeparatingSequence() : try transaction.nextSequence())
        guard row.body.count <= Limits.subscriptionSize else {
            throw ServiceError.limitExceeded(
                "the subscription holds \(row.body.count) bytes; at most \(Limits.subscriptionSize) are allowed")
        }
        return row
    }

    /// The record type whose changes the subscription matches; empty for all types. The type of a change in a share is
    /// unknown, so subscriptions to the shared database match all types.
    private func matchedType(of subscription: SubscriptionDictionary) -> String {
        caller.scope == .shared ? "" : subscription.query?.recordType ?? subscription.recordType ?? ""
    }

    /// The ID of the subscription's zone; 0 for all zones. Also completes the zone ID in the subscription with the
    /// zone's owner.
    private func zone(
        of subscription: inout SubscriptionDictionary, _ reader: StorageReader
    ) throws -> Int64 {
        if subscription.subscriptionType == .database || subscription.zoneWide { return 0 }
        let address = caller.address(subscription.zoneID)
        guard let zone = try ZoneRegistry.find(address, caller, reader) else {
            throw try ZoneRegistry.notFound(address, caller, .toSubscribe, reader)
        }
        if subscription.subscriptionType == .zone, !ZoneRules.hasChangeFeed(zone.name) {
            throw ServiceError.invalid(
                "the default zone cannot have a subscription of type 'zone', as it has no change feed")
        }
        if subscription.zoneID != nil { subscription.zoneID = caller.zoneID(zone.name) }
        return zone.key.id
    }

    /// The query with its values converted to the fields' types. A query that could not run is refused.
    private func fitted(_ query: Query, _ schema: Schema) throws(ServiceError) -> Query {
        try QueryValidation(schema: schema, caller: caller, container: container, bounds: bounds)
            .fitted(query)
    }
}

/// An account's subscriptions to a database, which are read once for all operations of a request.
private struct KnownSubscriptions {
    /// The identity of a query subscription. A second subscription with the same subject is refused (CloudKit Web
    /// Services, subscriptions/modify).
    private struct Subject: Hashable {
        var recordType: String
        var condition: QueryExpression
        var firesOn: Set<SubscriptionDictionary.Trigger>
        var firesOnce: Bool
        var zone: Int64

        init?(_ subscription: SubscriptionDictionary, zone: Int64) {
            guard subscription.subscriptionType == .query, let query = subscription.query else { return nil }
            recordType = query.recordType
            condition = query.condition
            firesOn = subscription.firesOn
            firesOnce = subscription.firesOnce
            self.zone = zone
        }
    }

    private struct Known {
        var subject: Subject?
        /// The number of bytes of the subscription in JSON.
        var size: Int
    }

    private var byID: [ExactString: Known] = [:]
    private var ids: [Subject: String] = [:]
    private var size = 0

    init(_ rows: [SubscriptionRow]) throws {
        for row in rows { insert(try SubscriptionRules.dictionary(row), zone: row.zone, size: row.body.count) }
    }

    /// Checks that a subscription of `size` bytes in JSON can be saved beside the others.
    func checkRoom(for id: String, size new: Int) throws(ServiceError) {
        let former = byID[ExactString(id)]
        guard former != nil || byID.count < Limits.subscriptionsPerDatabase else {
            throw .limitExceeded(
                "an account has at most \(Limits.subscriptionsPerDatabase) subscriptions in a database; delete some")
        }
        let total = size - (former?.size ?? 0) + new
        guard total <= Limits.subscriptionsSize else {
            throw .limitExceeded(
                "the account's subscriptions in the database would have \(total) bytes; at most \(Limits.subscriptionsSize)"
                    + " are allowed; delete some")
        }
    }

    /// The ID of another existing subscription with the same subject; nil if there is none.
    func duplicate(of subscription: SubscriptionDictionary, zone: Int64) -> String? {
        guard let id = Subject(subscription, zone: zone).flatMap({ ids[$0] }) else { return nil }
        return subscription.subscriptionID?.hasSameBytes(as: id) ?? false ? nil : id
    }

    mutating func insert(_ subscription: SubscriptionDictionary, zone: Int64, size: Int) {
        guard let id = subscription.subscriptionID else { return }
        remove(id)
        let subject = Subject(subscription, zone: zone)
        byID[ExactString(id)] = Known(subject: subject, size: size)
        self.size += size
        if let subject { ids[subject] = id }
    }

    mutating func remove(_ id: String) {
        guard let known = byID.removeValue(forKey: ExactString(id)) else { return }
        size -= known.size
        if let subject = known.subject { ids[subject] = nil }
    }
}

/// Implements `subscriptions/list` and `subscriptions/lookup`.
enum SubscriptionLookup {
    static func list(
        _ caller: Caller, _ account: AccountRow, _ reader: StorageReader
    ) throws -> SubscriptionsResponse {
        let rows = try reader.subscriptions(owner: caller.subscriptionOwner(account), account: account.id)
        return SubscriptionsResponse(
            subscriptions: try rows.map { .subscription(try SubscriptionRules.dictionary($0)) })
    }

    static func lookup(
        _ request: LookupSubscriptionsRequest, _ caller: Caller, _ account: AccountRow, _ reader: StorageReader
    ) throws -> SubscriptionsResponse {
        guard request.subscriptionIDs.count <= Limits.operationsPerRequest else {
            throw ServiceError.limitExceeded(
                "number of subscriptions exceeds the limit of \(Limits.operationsPerRequest): "
                    + "\(request.subscriptionIDs.count)")
        }
        let owner = caller.subscriptionOwner(account)
        return SubscriptionsResponse(
            subscriptions: try request.subscriptionIDs.map { id in
                if id.isStorable, let row = try reader.subscription(owner: owner, account: account.id, id: id) {
                    return .subscription(try SubscriptionRules.dictionary(row))
                }
                var error = ServiceError.subscriptionNotFound.dictionary(requestID: caller.requestID)
                error.subscriptionID = id
                return .failure(error)
            })
    }
}

extension Caller {
    /// The owner under which an account's subscriptions to the database are stored. The shared database has no rows of
    /// its own, so subscriptions to it are stored under the account's negated ID.
    func subscriptionOwner(_ account: AccountRow) -> OwnerID {
        owner ?? OwnerID(rawValue: -account.id)
    }
}
