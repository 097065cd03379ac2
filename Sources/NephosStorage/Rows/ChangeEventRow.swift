/// A change in a zone of a database with subscribers. The row is kept until the fan-out is complete.
package struct ChangeEventRow: Hashable, Sendable {
    package var id: Int64
    package var zone: ZoneKey
    package var zoneName: String
    /// The sequence of the change. Only subscriptions with an earlier sequence are notified.
    package var sequence: Int64
    /// The account of the client that made the change; 0 for none. The next property is that client's own identifier.
    package var originAccount: Int64
    package var originClient: String
    /// The encoded change, opaque to the storage layer.
    package var body: [UInt8]
    /// The position of the last notified subscription; nil before the first notification.
    package var position: SubscriptionPosition?

    package var origin: ChangeEventOrigin { ChangeEventOrigin(account: originAccount, database: zone.owner) }

    package init(
        id: Int64 = 0, zone: ZoneKey, zoneName: String, sequence: Int64, originAccount: Int64 = 0,
        originClient: String = "", body: [UInt8], position: SubscriptionPosition? = nil
    ) {
        self.id = id
        self.zone = zone
        self.zoneName = zoneName
        self.sequence = sequence
        self.originAccount = originAccount
        self.originClient = originClient
        self.body = body
        self.position = position
    }
}

/// A position among the subscriptions to a database, which are ordered by record type, account and id.
package struct SubscriptionPosition: Hashable, Sendable {
    package var recordType: String
    package var account: Int64
    package var id: String
    /// The number of this subscription's notifications that are already stored for the event; `.max` once all of them
    /// are.
    package var count: Int64

    package init(recordType: String, account: Int64, id: String, count: Int64) {
        self.recordType = recordType
        self.account = account
        self.id = id
        self.count = count
    }
}

/// The account that caused a change event, and the owner of the database that it changed.
package struct ChangeEventOrigin: Hashable, Sendable {
    package var account: Int64
    package var database: OwnerID

    package init(account: Int64, database: OwnerID) {
        self.account = account
        self.database = database
    }
}
