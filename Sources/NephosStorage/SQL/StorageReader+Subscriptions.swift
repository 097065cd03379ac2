extension StorageReader {
    // MARK: Subscriptions

    package final func subscription(owner: OwnerID, account: Int64, id: String) throws -> SubscriptionRow? {
        try row(
            .subscriptionByID, bind: { try $0.bind(owner: owner.rawValue).bind(account).bind(id) },
            read: { SubscriptionRow($0) })
    }

    /// The subscriptions of an account to a database, ordered by ID (byte-wise).
    package final func subscriptions(owner: OwnerID, account: Int64) throws -> [SubscriptionRow] {
        try rows(
            .subscriptionsOfAccount, bind: { try $0.bind(owner: owner.rawValue).bind(account) },
            read: { SubscriptionRow($0) })
    }

    /// The subscriptions of all accounts to a database for one record type, ordered by account and ID. An empty type
    /// selects the subscriptions for all types. If `position` is not nil, the result starts after it.
    package final func subscriptions(
        owner: OwnerID, recordType: String, after position: (account: Int64, id: String)?, limit: Int
    ) throws -> [SubscriptionRow] {
        try rows(.subscriptionsOfType) {
            try $0.bind(owner: owner.rawValue).bind(recordType).bind(position?.account ?? .min).bind(position?.id ?? "")
                .bind(limit: limit)
        } read: {
            SubscriptionRow($0)
        }
    }

    /// The record types with subscribers, by database. An empty type stands for all types.
    package final func subscribedTypes() throws -> [OwnerID: Set<String>] {
        var types: [OwnerID: Set<String>] = [:]
        var (owner, type) = (Int64.min, "")
        // One lookup per type (a skip scan), so that the cost does not grow with the number of subscriptions.
        while let next = try row(
            .nextSubscribedType, bind: { try $0.bind(owner: owner).bind(type) }, read: { ($0.owner(0), $0.text(1)) })
        {
            (owner, type) = next
            types[OwnerID(rawValue: owner), default: []].insert(type)
        }
        return types
    }

    // MARK: Push tokens

    package final func pushToken(_ token: String) throws -> PushTokenRow? {
        try row(.pushToken, bind: { try $0.bind(token) }, read: { PushTokenRow($0) })
    }

    /// The push tokens of an account, ordered by token (byte-wise).
    package final func pushTokens(account: Int64) throws -> [PushTokenRow] {
        try rows(.pushTokensOfAccount, bind: { try $0.bind(owner: account) }, read: { PushTokenRow($0) })
    }

    // MARK: Outbox

    /// The pending notifications of a destination, the oldest first: at most `limit`.
    package final func outbox(account: Int64, destination: String, limit: Int) throws -> [OutboxRow] {
        try rows(
            .outboxOfDestination, bind: { try $0.bind(owner: account).bind(destination).bind(limit: limit) },
            read: { OutboxRow($0) })
    }

    /// The destinations of an account that have a pending notification with this subject. The subject must not be
    /// empty.
    package final func outboxDestinations(account: Int64, subject: String) throws -> Set<String> {
        Set(
            try rows(
                .outboxDestinationsOfSubject, bind: { try $0.bind(owner: account).bind(subject) }, read: { $0.text(0) })
        )
    }

    /// The notifications that are due at `now` or earlier, the longest overdue first: at most `limit`.
    package final func dueOutbox(at now: Int64, limit: Int) throws -> [OutboxRow] {
        try rows(.dueOutbox, bind: { try $0.bind(now).bind(limit: limit) }, read: { OutboxRow($0) })
    }

    /// The oldest pending notification of each destination. Costs one round trip.
    package final func firstOutbox(of destinations: [OutboxDestinationKey]) throws -> [OutboxRow] {
        if destinations.isEmpty { return [] }
        if type(of: connection).isRemote {
            return try rows(.firstOutbox) {
                try $0.bind(destinations.map { String($0.account) }).bind(destinations.map(\.destination))
            } read: {
                OutboxRow($0)
            }
        }
        return try destinations.compactMap {
            try outbox(account: $0.account, destination: $0.destination, limit: 1).first
        }
    }

    /// The earliest due time after `now`; nil if there is none.
    package final func nextOutboxDue(after now: Int64) throws -> Int64? {
        try row(.nextOutboxDue, bind: { try $0.bind(now) }, read: { $0.integer(0) })
    }
}

extension StorageTransaction {
    /// Inserts the subscription, or replaces the one with the same owner, account and ID. A replaced subscription keeps
    /// the sequence of its first write.
    package func put(_ subscription: SubscriptionRow) throws {
        try change(.putSubscription) {
            try $0.bind(owner: subscription.owner.rawValue).bind(subscription.account).bind(subscription.id)
                .bind(subscription.recordType).bind(subscription.zone).bind(subscription.body).bind(subscription.since)
        }
    }

    /// Removes a subscription.
    /// - Returns: whether the subscription existed.
    package func removeSubscription(owner: OwnerID, account: Int64, id: String) throws -> Bool {
        try change(.removeSubscription) { try $0.bind(owner: owner.rawValue).bind(account).bind(id) } > 0
    }

    /// Removes the subscriptions of all accounts to the zone.
    package func removeSubscriptions(zone: ZoneKey) throws {
        try change(.removeSubscriptionsOfZone) { try $0.bind(zone) }
    }

    /// Inserts the push token, or replaces the row of the same token.
    package func put(_ token: PushTokenRow) throws {
        try change(.putPushToken) {
            try $0.bind(token.token).bind(owner: token.account).bind(token.client).bind(token.environment)
                .bind(token.isDevice ? 1 : 0).bind(token.polls ? 1 : 0).bind(token.seenAt).bind(token.handedOut)
        }
    }

    /// Stores the last notification that the client received and has not acknowledged; 0 for none.
    package func noteHandedOut(_ id: Int64, token: String) throws {
        try change(.noteHandedOut) { try $0.bind(id).bind(token) }
    }

    /// Removes a push token. The pending notifications of its destinations stay.
    package func removePushToken(_ token: String) throws {
        try change(.removePushToken) { try $0.bind(token) }
    }

    /// Adds a notification.
    /// - Throws: `StorageError` `.constraint` if the destination already has a notification with the same ID.
    package func insert(_ notification: OutboxRow) throws {
        try insert(notification, at: [OutboxPlace(notification)])
    }

    /// Adds a notification at each of `places`. The destination in the notification itself is ignored.
    /// - Throws: `StorageError` `.constraint` if a destination already has a notification with the same ID.
    package func insert(_ notification: OutboxRow, at places: [OutboxPlace]) throws {
        var rest = places[...]
        while let first = rest.first {
            let count = rest.count < SQL.outboxRowsTogether ? 1 : SQL.outboxRowsTogether
            try change(count == 1 ? .insertOutbox : .insertOutboxTogether) { statement in
                try statement.bind(owner: notification.account).bind(first.destination).bind(first.id)
                    .bind(notification.subject).bind(notification.notificationID).bind(notification.subscriptionID)
                    .bind(notification.collapseID).bind(notification.isSilent ? 1 : 0).bind(notification.createdAt)
                    .bind(notification.payload).bind(notification.attempts).bind(first.due)
                for place in rest.dropFirst().prefix(count - 1) {
                    try statement.bind(place.destination).bind(place.id).bind(place.due)
                }
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Returns the notifications that are due at `now` or earlier, as `dueOutbox` does, and postpones each to `until`,
    /// in case it is not settled by then. Skips notifications that another transaction is claiming.
    package func claimDueOutbox(at now: Int64, until: Int64, limit: Int) throws -> [OutboxRow] {
        hasWritten = true
        let claimed = try rows(.claimDueOutbox) {
            try $0.bind(until).bind(now).bind(limit: limit)
        } read: {
            OutboxRow($0)
        }
        return claimed.sorted { $0.id < $1.id }
    }

    /// Stores the number of delivery attempts and the next due time of a notification. Does nothing if the notification
    /// does not exist or its `due` has changed.
    package func updateOutbox(_ row: OutboxRow, attempts: Int64, due: Int64) throws {
        try change(.updateOutbox) {
            try $0.bind(attempts).bind(due).bind(owner: row.account).bind(row.destination).bind(row.id).bind(row.due)
        }
    }

    /// Removes a notification of a destination.
    /// - Returns: whether the notification existed.
    @discardableResult
    package func removeOutbox(account: Int64, destination: String, id: Int64) throws -> Bool {
        try change(.removeOutbox) { try $0.bind(owner: account).bind(destination).bind(id) } > 0
    }

    /// Removes the pending notifications of a destination with this subject. The subject must not be empty.
    package func removeOutbox(account: Int64, destination: String, subject: String) throws {
        try change(.removeOutboxOfSubject) { try $0.bind(owner: account).bind(destination).bind(subject) }
    }

    /// Removes the pending notifications of a destination except the newest `newest`.
    package func removeOutbox(account: Int64, destination: String, keeping newest: Int) throws {
        try change(.removeOldOutbox) { try $0.bind(owner: account).bind(destination).bind(limit: newest) }
    }
}

extension SubscriptionRow {
    fileprivate init(_ row: any SQLStatement) {
        self.init(
            owner: OwnerID(rawValue: row.owner(0)), account: row.integer(1), id: row.text(2), recordType: row.text(3),
            zone: row.integer(4), body: row.bytes(5), since: row.integer(6))
    }
}

extension PushTokenRow {
    fileprivate init(_ row: any SQLStatement) {
        self.init(
            token: row.text(0), account: row.owner(1), client: row.text(2), environment: row.text(3),
            isDevice: row.integer(4) != 0, polls: row.integer(5) != 0, seenAt: row.integer(6),
            handedOut: row.integer(7))
    }
}

extension OutboxRow {
    fileprivate init(_ row: any SQLStatement) {
        self.init(
            account: row.owner(0), destination: row.text(1), id: row.integer(2), subject: row.text(3),
            notificationID: row.text(4), subscriptionID: row.text(5), collapseID: row.optionalText(6),
            isSilent: row.integer(7) != 0, createdAt: row.integer(8), payload: row.bytes(9), attempts: row.integer(10),
            due: row.integer(11))
    }
}
