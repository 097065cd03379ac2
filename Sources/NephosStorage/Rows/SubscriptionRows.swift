/// An account's subscription to changes in a database.
package struct SubscriptionRow: Hashable, Sendable {
    /// The owner of the database. A database without an owner has a stand-in.
    package var owner: OwnerID
    /// The account of the subscriber.
    package var account: Int64
    /// The subscription's ID, unique among the account's subscriptions to the database.
    package var id: String
    /// The record type that the subscription covers; empty for all types.
    package var recordType: String
    /// The ID of the zone that the subscription covers; 0 for all zones.
    package var zone: Int64
    /// The subscription in the clients' encoding, opaque to the storage layer.
    package var body: [UInt8]
    /// The change sequence of the subscription's first write. Only later changes cause notifications.
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

/// A push token, which identifies a client that receives an account's notifications.
package struct PushTokenRow: Hashable, Sendable {
    /// The push token, unique in the store.
    package var token: String
    package var account: Int64
    /// The client's own identifier, unique within the account; empty if the client gives none.
    package var client: String
    /// The service's name for the push service that issued the token.
    package var environment: String
    /// Whether the token belongs to a device, to which a push service delivers.
    package var isDevice: Bool
    /// Whether the client polls for its notifications.
    package var polls: Bool
    /// The time of the client's last call, in milliseconds since 1970.
    package var seenAt: Int64
    /// The ID of the last notification that the client received and has not acknowledged; 0 for none. It is always 0 if
    /// one process writes the store, because that process keeps it in memory.
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

/// The key of a destination of an account's notifications.
package struct OutboxDestinationKey: Hashable, Sendable {
    package var account: Int64
    package var destination: String

    package init(account: Int64, destination: String) {
        self.account = account
        self.destination = destination
    }
}

/// A notification for one destination, which is kept until it is delivered.
package struct OutboxRow: Hashable, Sendable {
    package var account: Int64
    /// The destination, in the service's own terms.
    package var destination: String
    /// The notification's ID, unique in the store and larger than the IDs of earlier notifications.
    package var id: Int64
    /// The collapse key: of several notifications with the same key to one destination, only the last is kept. Empty
    /// for none.
    package var subject: String
    /// The identifier by which clients know the notification.
    package var notificationID: String
    package var subscriptionID: String
    package var collapseID: String?
    package var isSilent: Bool
    /// The time of the change that caused the notification, in milliseconds since 1970.
    package var createdAt: Int64
    /// The encoded payload, opaque to the storage layer.
    package var payload: [UInt8]
    /// The number of delivery attempts.
    package var attempts: Int64
    /// The time of the next delivery attempt, in milliseconds since 1970; 0 if the client polls for the notification.
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

/// The values of a notification that differ between its destinations: one entry of the outbox.
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
    /// Returns the same notification for another entry of the outbox.
    package func at(_ place: OutboxPlace) -> OutboxRow {
        var row = self
        (row.destination, row.id, row.due) = (place.destination, place.id, place.due)
        return row
    }
}
