/// Something that happened in a zone of a database with subscribers. It is kept until the fan-out is done.
package struct ChangeEventRow: Hashable, Sendable {
    package var id: Int64
    package var zone: ZoneKey
    package var zoneName: String
    /// Subscriptions of an earlier sequence are told.
    package var sequence: Int64
    /// The client that made the change: its account, 0 for none, and what it calls itself.
    package var originAccount: Int64
    package var originClient: String
    /// What happened, opaque here.
    package var body: [UInt8]
    /// The subscription that was told last; nil where none was yet.
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

/// A place among the subscriptions to a database, which are ordered by record type, account and id.
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
