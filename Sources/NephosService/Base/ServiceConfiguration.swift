/// A service's configuration.
package struct ServiceConfiguration: Sendable {
    /// Whether the service refuses requests that only Apple's Web Services refuse: more than 200 operations.
    package var isStrict: Bool

    /// Milliseconds that change feeds retain tombstones; change tokens from before a purge are expired. Nil is without
    /// limit.
    package var deletionRetention: Int64?

    /// The deliveries of notifications, besides polls.
    package var notifications: NotificationOutlets

    /// The back-off of undelivered notifications.
    package var retrySchedule = RetrySchedule.standard

    /// The duration of a long poll: less than the minute after which clients and proxies give up.
    package var pollDuration = Duration.seconds(45)

    /// Bytes of an asset's file.
    package var assetSize = Limits.assetSize
    /// Bytes of all files of a database.
    package var assetBytesPerDatabase = Limits.assetBytesPerDatabase

    /// Whether the service keeps the keys of encrypted values in escrow, so that each of an account's devices has them
    /// without asking another.
    package var escrowsKeys = false

    /// The bounds of a query; tests lower them.
    var queries = QueryBounds()

    /// The maximum number of open stores.
    package var openStores = Limits.openStores

    /// Whether deferred work continues as soon as a store is opened. A tool that inspects a store leaves it to the
    /// server.
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

extension ServiceConfiguration {
    /// The maximum number of operations, or of records looked up, in a request.
    var operationsPerRequest: Int { isStrict ? Limits.strictOperationsPerRequest : Limits.operationsPerRequest }
}
