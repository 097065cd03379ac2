/// How a service was asked to behave.
package struct ServiceConfiguration: Sendable {
    /// Refuses what only Apple's Web Services refuse: more than 200 operations a request.
    package var isStrict: Bool

    /// Milliseconds that feeds remember deletions; tokens that are older than what was forgotten have expired. Nil is
    /// for ever.
    package var deletionRetention: Int64?

    /// The ways out for notifications, beside the polls.
    package var notifications: NotificationOutlets

    /// When a notification that could not be sent is sent again.
    package var retrySchedule = RetrySchedule.standard

    /// How long a poll for notifications is held: less than the minute after which clients and proxies give up.
    package var pollDuration = Duration.seconds(45)

    /// Bytes of an asset's file, and of all files of a database.
    package var assetSize = Limits.assetSize
    package var assetBytesPerDatabase = Limits.assetBytesPerDatabase

    /// Whether the service keeps the keys of encrypted values for accounts' devices, so that each has them without asking.
    package var escrowsKeys = false

    /// How much a query may do; a test gives less.
    var queries = QueryBounds()

    /// How many stores are open at a time.
    package var openStores = Limits.openStores

    /// Whether what earlier commits left to the background is gone on with as soon as a store is opened. A tool that
    /// looks into a store leaves it to the server.
    package var worksInBackground: Bool

    package init(
        isStrict: Bool = false, deletionRetention: Int64? = Limits.deletionRetention,
        notifications: NotificationOutlets = NotificationOutlets(), worksInBackground: Bool = true
    ) {
        self.isStrict = isStrict
        self.deletionRetention = deletionRetention
        self.notifications = notifications
        self.worksInBackground = worksInBackground
    }
}
