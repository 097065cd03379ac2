public import Foundation

/// One of a container's three stores of records (CKDatabase, Apple's documentation).
///
/// The methods of this class are conveniences over user-initiated operations. Their handlers are called on an
/// unspecified queue, but never on the main queue.
open class CKDatabase: NSObject, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: all members are constants, except a weak reference that a lock
    // guards.

    /// The kind of a container's database.
    public enum Scope: Int, Hashable, Sendable, BitwiseCopyable {
        /// The database of records that all users of the app share.
        case `public` = 1
        /// The database of records that only the account can access.
        case `private` = 2
        /// The database of records that other users share with the account, in zones that those users own.
        case shared = 3

        // `Scope` does not conform to `CaseIterable`. Apple's does not either, so apps declare the conformance themselves.
        static let all: [Scope] = [.public, .private, .shared]
    }

    let session: ContainerSession
    private let scope: Scope
    private let configured: CKContainer.Configured
    private let owner = Locked(WeakContainer())

    private struct WeakContainer {
        weak var container: CKContainer?
    }

    init(_ scope: Scope, _ session: ContainerSession, _ configured: CKContainer.Configured) {
        self.scope = scope
        self.session = session
        self.configured = configured
        super.init()
    }

    /// Creates a database for a test's subclass that replaces a database and overrides the methods under test. Not part
    /// of Apple's API. Methods that are not overridden fail with `badContainer`; a usable database comes from a
    /// `CKContainer`.
    public override init() {
        scope = .private
        session = ContainerSession(CKContainer.noIdentifier, MisconfiguredService(noContainerFor: "database"))
        configured = CKContainer.Configured()
        super.init()
    }

    /// Whether this object belongs to a subclass, which may override methods.
    private var isSubclass: Bool { type(of: self) != CKDatabase.self }

    /// The scope of the database in its container: public, private or shared.
    open var databaseScope: CKDatabase.Scope { scope }

    open override var description: String {
        "<CKDatabase: \(address(of: self)); databaseScope=\(databaseScope), containerIdentifier=\(session.identifier)>"
    }

    open override var debugDescription: String { description }

    /// Sets the container to which this database belongs.
    func adopt(_ container: CKContainer) { owner.container = container }

    /// The container of the database. If the app has released the container, this is a new object for the same
    /// container.
    var container: CKContainer { owner.container ?? CKContainer(session) }

    /// The account as which new operations start.
    var account: AccountSession { configured.account ?? session.account }

    /// Returns this database bound to an account, for work in several steps. If the account changes, the remaining
    /// steps fail.
    func bound(to account: AccountSession) -> CKDatabase {
        var bound = configured
        bound.account = account
        let database = CKDatabase(scope, session, bound)
        database.adopt(container)
        return database
    }

    /// Runs an operation in this database.
    open func add(_ operation: CKDatabaseOperation) {
        operation.database = self
        operation.begin(as: account, in: session)
        operation.inherit(configured.values, group: configured.group)
        session.queue.addOperation(operation)
    }

    /// Runs the operation of a convenience method. It is user-initiated unless this database is configured otherwise.
    func run(_ operation: CKDatabaseOperation) {
        operation.database = self
        operation.begin(as: account, in: session)
        let userWaits = ConfigurationValues(qualityOfService: .userInitiated)
        operation.inherit(configured.values?.merged(over: userWaits) ?? userWaits, group: configured.group)
        // No other operation depends on this one. So it needs no queue, and no thread has to wake up.
        operation.start()
    }

    /// Calls `body` with a copy of this database. Operations of the copy take the values that they do not set
    /// themselves from `configuration` and `group`; nil leaves the values unchanged.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (_ configuredDatabase: CKDatabase) throws -> R
    ) rethrows -> R {
        try body(configured(with: configuration, group))
    }

    /// Calls `body` with a copy of this database. Operations of the copy take the values that they do not set
    /// themselves from `configuration` and `group`; nil leaves the values unchanged.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: @Sendable (_ configuredDatabase: CKDatabase) async throws -> R
    ) async rethrows -> R {
        try await body(configured(with: configuration, group))
    }

    private func configured(with configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> CKDatabase {
        let database = CKDatabase(scope, session, configured.adding(configuration, group))
        database.adopt(container)
        return database
    }

    // MARK: One record

    // All methods are open, as Apple's Objective-C methods are, because the tests of apps override them.

    /// Fetches a record. Fails with `unknownItem` if the record does not exist, and with `zoneNotFound` if its zone
    /// does not exist.
    @preconcurrency
    open func fetch(
        withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        fetchRecord(recordID, completionHandler)
    }

    /// Fetches a record.
    /// - Throws: `CKError`: `.unknownItem` if the record does not exist, `.zoneNotFound` if its zone does not exist.
    open func record(for recordID: CKRecord.ID) async throws -> CKRecord {
        try await isSubclass
            ? resultOfHandler { fetch(withRecordID: recordID, completionHandler: $0) }
            : records(for: [recordID]).item(recordID)
    }

    /// Saves a record, and passes the server's record to the handler. Fails with `serverRecordChanged` if the server
    /// has another version of the record.
    @preconcurrency
    open func save(_ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void) {
        saveRecord(record, completionHandler)
    }

    /// Saves a record, and returns the server's record.
    /// - Throws: `CKError`: `.serverRecordChanged` if the server has another version of the record.
    @discardableResult
    open func save(_ record: CKRecord) async throws -> CKRecord {
        try await isSubclass
            ? resultOfHandler { save(record, completionHandler: $0) }
            : modifyRecords(saving: [record], deleting: []).saveResults.item(record.recordID)
    }

    /// Deletes a record, and the records that refer to it with `.deleteSelf`. Succeeds if the record does not exist.
    @preconcurrency
    open func delete(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        deleteRecord(recordID, completionHandler)
    }

    /// Deletes a record, and the records that refer to it with `.deleteSelf`. Succeeds if the record does not exist.
    /// - Throws: `CKError`.
    @discardableResult
    open func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
        if isSubclass { return try await resultOfHandler { delete(withRecordID: recordID, completionHandler: $0) } }
        try await modifyRecords(saving: [], deleting: [recordID]).deleteResults.item(recordID)
        return recordID
    }

    // MARK: Zones

    /// Fetches all zones of this database. The private database has at least the default zone.
    @preconcurrency
    open func fetchAllRecordZones(completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void) {
        fetchAllZones(completionHandler)
    }

    /// Fetches all zones of this database. The private database has at least the default zone.
    /// - Throws: `CKError`.
    open func allRecordZones() async throws -> [CKRecordZone] {
        try await isSubclass ? resultOfHandler { fetchAllRecordZones(completionHandler: $0) } : everyZone()
    }

    /// Fetches a zone. Fails with `zoneNotFound` if the zone does not exist.
    @preconcurrency
    open func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        fetchZone(zoneID, completionHandler)
    }

    /// Fetches a zone.
    /// - Throws: `CKError`: `.zoneNotFound` if the zone does not exist.
    open func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
        try await isSubclass
            ? resultOfHandler { fetch(withRecordZoneID: zoneID, completionHandler: $0) }
            : recordZones(for: [zoneID]).item(zoneID)
    }

    /// Saves a zone, and passes the server's zone to the handler. Saving an existing zone changes nothing.
    @preconcurrency
    open func save(_ zone: CKRecordZone, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void) {
        saveZone(zone, completionHandler)
    }

    /// Saves a zone, and returns the server's zone. Saving an existing zone changes nothing.
    /// - Throws: `CKError`.
    @discardableResult
    open func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        try await isSubclass
            ? resultOfHandler { save(zone, completionHandler: $0) }
            : modifyRecordZones(saving: [zone], deleting: []).saveResults.item(zone.zoneID)
    }

    /// Deletes a zone with all of its records. Fails with `zoneNotFound` if the zone does not exist.
    @preconcurrency
    open func delete(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        deleteZone(zoneID, completionHandler)
    }

    /// Deletes a zone with all of its records.
    /// - Throws: `CKError`: `.zoneNotFound` if the zone does not exist.
    @discardableResult
    open func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        if isSubclass { return try await resultOfHandler { delete(withRecordZoneID: zoneID, completionHandler: $0) } }
        try await modifyRecordZones(saving: [], deleting: [zoneID]).deleteResults.item(zoneID)
        return zoneID
    }

    // MARK: Subscriptions

    /// Fetches all subscriptions that the account has in this database.
    @preconcurrency
    open func fetchAllSubscriptions(
        completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void
    ) {
        fetchEverySubscription(completionHandler)
    }

    /// Fetches all subscriptions that the account has in this database.
    /// - Throws: `CKError`.
    open func allSubscriptions() async throws -> [CKSubscription] {
        try await isSubclass ? resultOfHandler { fetchAllSubscriptions(completionHandler: $0) } : everySubscription()
    }

    /// Fetches a subscription. Fails with `unknownItem` if the subscription does not exist.
    @preconcurrency
    open func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        fetchSubscription(subscriptionID, completionHandler)
    }

    /// Fetches a subscription.
    /// - Throws: `CKError`: `.unknownItem` if the subscription does not exist.
    open func subscription(for subscriptionID: CKSubscription.ID) async throws -> CKSubscription {
        try await isSubclass
            ? resultOfHandler { fetch(withSubscriptionID: subscriptionID, completionHandler: $0) }
            : subscriptions(for: [subscriptionID]).item(subscriptionID)
    }

    /// Saves a subscription. It replaces an existing subscription with the same ID.
    @preconcurrency
    open func save(
        _ subscription: CKSubscription, completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        saveSubscription(subscription, completionHandler)
    }

    /// Saves a subscription. It replaces an existing subscription with the same ID.
    /// - Throws: `CKError`.
    @discardableResult
    open func save(_ subscription: CKSubscription) async throws -> CKSubscription {
        try await isSubclass
            ? resultOfHandler { save(subscription, completionHandler: $0) }
            : modifySubscriptions(saving: [subscription], deleting: []).saveResults.item(subscription.subscriptionID)
    }

    /// Deletes a subscription. Fails with `unknownItem` if the subscription does not exist.
    @preconcurrency
    open func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (String?, (any Error)?) -> Void
    ) {
        deleteSubscription(subscriptionID, completionHandler)
    }

    /// Deletes a subscription.
    /// - Throws: `CKError`: `.unknownItem` if the subscription does not exist.
    @discardableResult
    open func deleteSubscription(withID subscriptionID: CKSubscription.ID) async throws -> CKSubscription.ID {
        if isSubclass {
            return try await resultOfHandler { delete(withSubscriptionID: subscriptionID, completionHandler: $0) }
        }
        try await modifySubscriptions(saving: [], deleting: [subscriptionID]).deleteResults.item(subscriptionID)
        return subscriptionID
    }

    // MARK: Queries, by former names

    /// Searches for records, and passes only the first page to the handler.
    @available(*, deprecated, message: "use fetch(withQuery:inZoneWith:desiredKeys:resultsLimit:completionHandler:)")
    @preconcurrency
    open func perform(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
        completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
    ) {
        fetchFirstPage(query, zoneID, completionHandler)
    }

    /// Searches for records, and returns only the first page.
    @available(*, deprecated, message: "use records(matching:inZoneWith:desiredKeys:resultsLimit:)")
    open func perform(_ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
        try await isSubclass
            ? resultOfHandler { perform(query, inZoneWith: zoneID, completionHandler: $0) } : firstPage(query, zoneID)
    }
}

/// The former name of `CKDatabase.Scope`.
@available(*, deprecated, renamed: "CKDatabase.Scope")
public typealias CKDatabaseScope = CKDatabase.Scope
