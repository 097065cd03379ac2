/// A change in a zone of a database with subscribers. It is kept until the fan-out is complete.
package struct ChangeEventRow: Hashable, Sendable {
    package var id: Int64
    package var zone: ZoneKey
    package var zoneName: String
    /// Only subscriptions with an earlier sequence are notified.
    package var sequence: Int64
    /// The client that made the change: its account, 0 for none, and its own identifier.
    package var originAccount: Int64
    package var originClient: String
    /// The change, opaque here.
    package var body: [UInt8]
    /// The last notified subscription; nil before the first.
    package var position: SubscriptionPosition?

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
    /// How many notifications of this subscription's were left.
    package var count: Int64

    package init(recordType: String, account: Int64, id: String, count: Int64) {
        self.recordType = recordType
        self.account = account
        self.id = id
        self.count = count
    }
}
