/// A service's configuration.
package struct ServiceConfiguration: Sendable {
    /// Whether the service refuses requests that only Apple's Web Services refuse: those with more than 200 operations.
    package var isStrict: Bool
    /// Whether the service refuses requests that Apple's service does not know (`StrictRules`).
    package var refusesAdditions = false

    /// The number of milliseconds for which change feeds retain tombstones; nil retains them forever. Change tokens
    /// from before a purge are expired.
    package var deletionRetention: Int64?

    /// The deliveries that notify clients in addition to polls.
    package var notifications: NotificationOutlets

    /// The back-off for undelivered notifications.
    package var retrySchedule = RetrySchedule.standard

    /// The duration of a long poll: less than the minute after which clients and proxies give up.
    package var pollDuration = Duration.seconds(45)

    /// The maximum number of bytes per asset file.
    package var assetSize = Limits.assetSize
    /// The maximum number of bytes of all files per database.
    package var assetBytesPerDatabase = Limits.assetBytesPerDatabase

    /// The maximum number of bytes of the records of a private database, and of the public one; nil for no limit. Files
    /// have limits of their own.
    package var recordBytesPerAccount: Int64?
    package var recordBytesPerContainer: Int64?

    /// Whether the service holds the keys of encrypted values in escrow, so that each of an account's devices gets them
    /// without another device.
    package var escrowsKeys = false

    /// Begins a session of a request's account, for a web page or program with an API token, and returns its web auth
    /// token; nil where accounts are names.
    package var makeWebAuthToken: (@Sendable (String, RequestContext) async throws(ServiceError) -> String)?

    /// Tests whether the store of accounts can be written, for readiness; nil where accounts are names.
    package var testWritingAccounts: (@Sendable () async throws -> Void)?

    /// Called after a device was added to an account's list; nil where no account has an address.
    package var noteDevice: (@Sendable (DeviceNotice) async -> Void)?

    /// Whether a container's first write makes it, which is logged. Elsewhere commands make containers.
    package var logsContainers = true

    /// Whether the log says which containers and which parts of their schemas requests added; nil for stores that are kept.
    package var logsAdditions: Bool?

    /// Whether saves in development add record types and fields to the schema. If false, only imports do, as only
    /// deployments do in production.
    package var extendsSchema = true

    /// The bounds of every query. Tests lower them.
    var queries = QueryBounds()

    /// The bounds of the stored outcomes of requests. Tests lower them.
    var outcomes = OutcomeBounds()

    /// The maximum number of open stores.
    package var openStores = Limits.openStores

    /// Whether deferred work continues as soon as a store is opened. A tool that inspects a store leaves that work to
    /// the server.
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
    /// The maximum number of operations, or of records looked up, per request.
    var operationsPerRequest: Int { isStrict ? Limits.strictOperationsPerRequest : Limits.operationsPerRequest }
}
