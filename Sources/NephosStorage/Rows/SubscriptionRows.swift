/// An account's subscription to changes in a database.
package struct SubscriptionRow: Hashable, Sendable {
    /// The owner of the database, or a stand-in for a database without one.
    package var owner: OwnerID
    /// The subscriber.
    package var account: Int64
    /// Unique in the database for the account.
    package var id: String
    /// The subscribed record type; empty for all.
    package var recordType: String
    /// The id of the subscribed zone; 0 for all.
    package var zone: Int64
    /// The subscription in the clients' encoding, opaque here.
    package var body: [UInt8]
    /// The change sequence of its first write: only later changes are notified.
    package var since: Int64

    package init(
        owner: OwnerID, account: Int64, id: String, recordType: String, zone: Int64, body: [UInt8], since: Int64 = 0
    ) {
        self.owner = owner
        self.account = account
        self.id = id
        self.recordType = recordType
        self.zone = zone
        self.body = body
        self.since = since
    }
}

/// A client that receives an account's notifications.
package struct PushTokenRow: Hashable, Sendable {
    /// Unique in the store.
    package var token: String
    package var account: Int64
    /// The client's own identifier; empty if it gives none. Unique within the account, except for the empty one.
    package var client: String
    /// The push service of the token, a name that the service chooses.
    package var environment: String
    /// Whether it is a device's token, to which a push service delivers.
    package var isDevice: Bool
    /// Whether the client polls for its notifications.
    package var polls: Bool
    /// When the client last called, milliseconds since 1970.
    package var seenAt: Int64
    /// The last notification given to it and not yet acknowledged; 0 for none, and always 0 if one process writes the
    /// store, which keeps it in memory.
    package var handedOut: Int64

    package init(
        token: String, account: Int64, client: String, environment: String, isDevice: Bool, polls: Bool,
        seenAt: Int64, handedOut: Int64 = 0
    ) {
        self.token = token
        self.account = account
        self.client = client
        self.environment = environment
        self.isDevice = isDevice
        self.polls = polls
        self.seenAt = seenAt
        self.handedOut = handedOut
    }
}

/// A destination of an account's notifications.
package struct OutboxDestinationKey: Hashable, Sendable {
    package var account: Int64
    package var destination: String

    package init(account: Int64, destination: String) {
        self.account = account
        self.destination = destination
    }
}

/// A notification for one destination. It is kept until it is delivered.
package struct OutboxRow: Hashable, Sendable {
    package var account: Int64
    /// The destination, in the service's own terms.
    package var destination: String
    /// Unique in the store, and larger than those of the notifications before it.
    package var id: Int64
    /// A collapse key: of notifications to one destination with the same subject only the last is kept; empty for none.
    package var subject: String
    /// The notification's identifier for clients.
    package var notificationID: String
    package var subscriptionID: String
    package var collapseID: String?
    package var isSilent: Bool
    /// When it was caused, milliseconds since 1970.
    package var createdAt: Int64
    /// The encoded payload, opaque here.
    package var payload: [UInt8]
    /// The number of delivery attempts.
    package var attempts: Int64
    /// The time of the next attempt, milliseconds since 1970; 0 if the client polls for it.
    package var due: Int64

    package init(
        account: Int64, destination: String, id: Int64, subject: String = "", notificationID: String,
        subscriptionID: String, collapseID: String? = nil, isSilent: Bool, createdAt: Int64, payload: [UInt8],
        attempts: Int64 = 0, due: Int64
    ) {
        self.account = account
        self.destination = destination
        self.id = id
        self.subject = subject
        self.notificationID = notificationID
        self.subscriptionID = subscriptionID
        self.collapseID = collapseID
        self.isSilent = isSilent
        self.createdAt = createdAt
        self.payload = payload
        self.attempts = attempts
        self.due = due
    }
}

/// A notification's entry in the outbox: the values that differ between its destinations.
package struct OutboxPlace: Hashable, Sendable {
    package var destination: String
    package var id: Int64
    package var due: Int64

    package init(destination: String, id: Int64, due: Int64) {
        self.destination = destination
        self.id = id
        self.due = due
    }

    init(_ row: OutboxRow) { self.init(destination: row.destination, id: row.id, due: row.due) }
}

extension OutboxRow {
    /// The same notification in another outbox entry.
    package func at(_ place: OutboxPlace) -> OutboxRow {
        var row = self
        (row.destination, row.id, row.due) = (place.destination, place.id, place.due)
        return row
    }
}
