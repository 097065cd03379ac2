/// What an account wants to be told of in a database.
package struct SubscriptionRow: Hashable, Sendable {
    /// The owner of the database, or what stands for a database that has no owner of its own.
    package var owner: OwnerID
    /// The subscriber.
    package var account: Int64
    /// Unique in the database for the account.
    package var id: String
    /// The record type it is about; empty for all.
    package var recordType: String
    /// The id of the zone it is about; 0 for all.
    package var zone: Int64
    /// The subscription as it is sent to clients, opaque here.
    package var body: [UInt8]
    /// The change sequence at which it was first written: what happened later is told.
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

/// A client that notifications of an account are delivered to.
package struct PushTokenRow: Hashable, Sendable {
    /// Unique in the store.
    package var token: String
    package var account: Int64
    /// What the client calls itself; empty where it does not say. Unique within the account, but for the empty one.
    package var client: String
    /// Which push service the token is of, a name the service gives.
    package var environment: String
    /// Whether it is the token of a device, which a push service delivers to.
    package var isDevice: Bool
    /// Whether the client polls for its notifications.
    package var polls: Bool
    /// When the client was last heard of, in milliseconds since 1970.
    package var seenAt: Int64
    /// The notification that was given to it last and of which no receipt has come; 0 for none, and where one process
    /// writes the store, which knows.
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

/// A destination of notifications of an account.
package struct OutboxDestinationKey: Hashable, Sendable {
    package var account: Int64
    package var destination: String

    package init(account: Int64, destination: String) {
        self.account = account
        self.destination = destination
    }
}

/// A notification for one destination. It is kept until it is delivered there.
package struct OutboxRow: Hashable, Sendable {
    package var account: Int64
    /// Where it goes, in the service's own terms.
    package var destination: String
    /// Unique in the store, and larger than those of the notifications before it.
    package var id: Int64
    /// Of notifications to one destination with the same subject only the last is wanted; empty for none of this.
    package var subject: String
    /// The identifier by which clients know it.
    package var notificationID: String
    package var subscriptionID: String
    package var collapseID: String?
    package var isSilent: Bool
    /// When it was caused, in milliseconds since 1970.
    package var createdAt: Int64
    /// As it is sent, opaque here.
    package var payload: [UInt8]
    /// How often its delivery was tried.
    package var attempts: Int64
    /// When it is to be tried next, in milliseconds since 1970; 0 where it is fetched instead.
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

/// A place of a notification in the outbox: what differs between the destinations that it goes to.
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
    /// The same notification at another place.
    package func at(_ place: OutboxPlace) -> OutboxRow {
        var row = self
        (row.destination, row.id, row.due) = (place.destination, place.id, place.due)
        return row
    }
}
