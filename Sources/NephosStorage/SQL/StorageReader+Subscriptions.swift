extension StorageReader {
    // MARK: Subscriptions

    package final func subscription(owner: OwnerID, account: Int64, id: String) throws -> SubscriptionRow? {
        try row(
            .subscriptionByID, bind: { try $0.bind(owner.rawValue).bind(account).bind(id) },
            read: { SubscriptionRow($0) })
    }

    /// An account's subscriptions to a database, ordered by id (byte-wise).
    package final func subscriptions(owner: OwnerID, account: Int64) throws -> [SubscriptionRow] {
        try rows(
            .subscriptionsOfAccount, bind: { try $0.bind(owner.rawValue).bind(account) },
            read: { SubscriptionRow($0) })
    }

    /// All accounts' subscriptions to a database for a record type (for all types if it is empty), ordered by account
    /// and id, after `position` if given.
    package final func subscriptions(
        owner: OwnerID, recordType: String, after position: (account: Int64, id: String)?, limit: Int
    ) throws -> [SubscriptionRow] {
        try rows(.subscriptionsOfType) {
            try $0.bind(owner.rawValue).bind(recordType).bind(position?.account ?? .min).bind(position?.id ?? "")
                .bind(limit: limit)
        } read: {
            SubscriptionRow($0)
        }
    }

    /// The subscribed record types of each database; the empty one stands for all.
    package final func subscribedTypes() throws -> [OwnerID: Set<String>] {
        var types: [OwnerID: Set<String>] = [:]
        var (owner, type) = (Int64.min, "")
        // One lookup per type (a skip scan), so that the cost does not grow with the number of subscriptions.
        while let next = try row(
            .nextSubscribedType, bind: { try $0.bind(owner).bind(type) }, read: { ($0.integer(0), $0.text(1)) })
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

    /// An account's tokens, ordered by token (byte-wise).
    package final func pushTokens(account: Int64) throws -> [PushTokenRow] {
        try rows(.pushTokensOfAccount, bind: { try $0.bind(account) }, read: { PushTokenRow($0) })
    }

    // MARK: Outbox

    /// The pending notifications of a destination, oldest first.
    package final func outbox(account: Int64, destination: String, limit: Int) throws -> [OutboxRow] {
        try rows(
            .outboxOfDestination, bind: { try $0.bind(account).bind(destination).bind(limit: limit) },
            read: { OutboxRow($0) })
    }

    /// An account's destinations with a pending notification of this subject, which is not empty.
    package final func outboxDestinations(account: Int64, subject: String) throws -> Set<String> {
        Set(
            try rows(
                .outboxDestinationsOfSubject, bind: { try $0.bind(account).bind(subject) }, read: { $0.text(0) }))
    }

    /// The notifications due at `now` or before, the longest overdue first.
    package final func dueOutbox(at now: Int64, limit: Int) throws -> [OutboxRow] {
        try rows(.dueOutbox, bind: { try $0.bind(now).bind(limit: limit) }, read: { OutboxRow($0) })
    }

    /// The oldest pending notification of each of several destinations. Costs one round trip.
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

    /// The next due time after `now`; nil if there is none.
    package final func nextOutboxDue(after now: Int64) throws -> Int64? {
        try row(.nextOutboxDue, bind: { try $0.bind(now) }, read: { $0.integer(0) })
    }
}

extension StorageTransaction {
    /// Inserts or replaces the subscription of that owner, account and id; an existing one keeps the sequence of its
    /// first write.
    package func put(_ subscription: SubscriptionRow) throws {
        try change(.putSubscription) {
            try $0.bind(subscription.owner.rawValue).bind(subscription.account).bind(subscription.id)
                .bind(subscription.recordType).bind(subscription.zone).bind(subscription.body).bind(subscription.since)
        }
    }

    /// - Returns: whether it existed.
    package func removeSubscription(owner: OwnerID, account: Int64, id: String) throws -> Bool {
        try change(.removeSubscription) { try $0.bind(owner.rawValue).bind(account).bind(id) } > 0
    }

    /// Removes all accounts' subscriptions to the zone.
    package func removeSubscriptions(zone: ZoneKey) throws {
        try change(.removeSubscriptionsOfZone) { try $0.bind(zone) }
    }

    /// Inserts or replaces the token.
    package func put(_ token: PushTokenRow) throws {
        try change(.putPushToken) {
            try $0.bind(token.token).bind(token.account).bind(token.client).bind(token.environment)
                .bind(token.isDevice ? 1 : 0).bind(token.polls ? 1 : 0).bind(token.seenAt).bind(token.handedOut)
        }
    }

    /// Stores the last notification given to the client and not yet acknowledged, 0 for none.
    package func noteHandedOut(_ id: Int64, token: String) throws {
        try change(.noteHandedOut) { try $0.bind(id).bind(token) }
    }

    /// Removes a token. The pending notifications of its destinations stay.
    package func removePushToken(_ token: String) throws {
        try change(.removePushToken) { try $0.bind(token) }
    }

    /// Adds a notification.
    /// - Throws: `StorageError` `.constraint` if the destination has a notification with its id.
    package func insert(_ notification: OutboxRow) throws {
        try insert(notification, at: [OutboxPlace(notification)])
    }

    /// Adds a notification to each of `places`; its own destination is ignored.
    /// - Throws: `StorageError` `.constraint` if a destination has a notification with its id.
    package func insert(_ notification: OutboxRow, at places: [OutboxPlace]) throws {
        var rest = places[...]
        while let first = rest.first {
            let count = rest.count < SQL.outboxRowsTogether ? 1 : SQL.outboxRowsTogether
            try change(count == 1 ? .insertOutbox : .insertOutboxTogether) { statement in
                try statement.bind(notification.account).bind(first.destination).bind(first.id)
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

    /// Returns the notifications due at `now` or before, as `dueOutbox`, and postpones them to `until`, in case they
    /// are not settled before. Skips notifications that another transaction is claiming.
    package func claimDueOutbox(at now: Int64, until: Int64, limit: Int) throws -> [OutboxRow] {
        hasWritten = true
        let claimed = try rows(.claimDueOutbox) {
            try $0.bind(until).bind(now).bind(limit: limit)
        } read: {
            OutboxRow($0)
        }
        return claimed.sorted { $0.id < $1.id }
    }

    /// Stores a delivery attempt and the next due time. Does nothing if the notification does not exist or its `due`
    /// has changed.
    package func updateOutbox(_ row: OutboxRow, attempts: Int64, due: Int64) throws {
        try change(.updateOutbox) {
            try $0.bind(attempts).bind(due).bind(row.account).bind(row.destination).bind(row.id).bind(row.due)
        }
    }

    /// - Returns: whether it existed.
    @discardableResult
    package func removeOutbox(account: Int64, destination: String, id: Int64) throws -> Bool {
        try change(.removeOutbox) { try $0.bind(account).bind(destination).bind(id) } > 0
    }

    /// Removes a destination's pending notifications with this subject, which is not empty.
    package func removeOutbox(account: Int64, destination: String, subject: String) throws {
        try change(.removeOutboxOfSubject) { try $0.bind(account).bind(destination).bind(subject) }
    }

    /// Removes a destination's pending notifications except the newest.
    package func removeOutbox(account: Int64, destination: String, keeping newest: Int) throws {
        try change(.removeOldOutbox) { try $0.bind(account).bind(destination).bind(limit: newest) }
    }
}

extension SubscriptionRow {
    fileprivate init(_ row: any SQLStatement) {
        self.init(
            owner: OwnerID(rawValue: row.integer(0)), account: row.integer(1), id: row.text(2), recordType: row.text(3),
            zone: row.integer(4), body: row.bytes(5), since: row.integer(6))
    }
}

extension PushTokenRow {
    fileprivate init(_ row: any SQLStatement) {
        self.init(
            token: row.text(0), account: row.integer(1), client: row.text(2), environment: row.text(3),
            isDevice: row.integer(4) != 0, polls: row.integer(5) != 0, seenAt: row.integer(6),
            handedOut: row.integer(7))
    }
}

extension OutboxRow {
    fileprivate init(_ row: any SQLStatement) {
        self.init(
            account: row.integer(0), destination: row.text(1), id: row.integer(2), subject: row.text(3),
            notificationID: row.text(4), subscriptionID: row.text(5), collapseID: row.optionalText(6),
            isSilent: row.integer(7) != 0, createdAt: row.integer(8), payload: row.bytes(9), attempts: row.integer(10),
            due: row.integer(11))
    }
}
