public import Foundation

extension NSNotification.Name {
    /// Posted, on any thread, when the account that CloudKit uses changes.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public static let CKAccountChanged = NSNotification.Name("CKAccountChangedNotification")
}

/// An app's data in iCloud, with its three databases and its account functions (CKContainer, Apple's documentation).
open class CKContainer: NSObject, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: all members change in initializers alone. Only `init()` is designated,
    // as in Apple's framework, so that a subclass's initializer need not call it.

    final private(set) var session: ContainerSession
    final private var databases: [CKDatabase]
    /// The configuration that `configuredWith` set on this object.
    final private var configured: Configured

    /// The configuration of operations that `configuredWith` sets; empty in an object that `configuredWith` did not
    /// make.
    struct Configured: Sendable {
        var values: ConfigurationValues?
        var group: CKOperationGroup?
        /// The account of operations; nil for the account that is signed in when an operation starts.
        var account: AccountSession?
    }

    convenience init(_ session: ContainerSession, _ configured: Configured = Configured()) {
        self.init()
        self.session = session
        self.configured = configured
        databases = CKDatabase.Scope.all.map { CKDatabase($0, session, configured) }
        for database in databases { database.adopt(self) }
    }

    /// Creates a container with an identifier, which is `iCloud.` and a name in reverse-DNS order.
    public convenience init(identifier containerIdentifier: String) {
        raise(unless: !containerIdentifier.isEmpty, "The identifier of a CKContainer must not be empty.")
        self.init(ServiceDirectory.current.session(for: containerIdentifier))
    }

    /// Creates a container that uses `service`.
    package convenience init(
        identifier containerIdentifier: String, service: any CloudService, environment: SyncEngineEnvironment = .system
    ) {
        self.init(ContainerSession(containerIdentifier, service, environment: environment))
    }

    /// Creates a container for a test's subclass that replaces a container and overrides the methods under test. Not
    /// part of Apple's API. Methods that are not overridden fail with `badContainer`; an app's container is `default()`
    /// or has an identifier.
    public override init() {
        session = ContainerSession(Self.noIdentifier, MisconfiguredService(noContainerFor: "container"))
        configured = Configured()
        databases = CKDatabase.Scope.all.map { [session, configured] in CKDatabase($0, session, configured) }
        super.init()
        for database in databases { database.adopt(self) }
    }

    /// The identifier of a container that was created without one.
    static let noIdentifier = ""

    /// Whether this object belongs to a subclass, which may override methods.
    private var isSubclass: Bool { type(of: self) != CKContainer.self }

    /// The app's own container, as `CloudKitEnvironment` defines it.
    open class func `default`() -> CKContainer { ServiceDirectory.current.defaultContainer() }

    /// The global name of the container, such as `iCloud.org.example.App`.
    open var containerIdentifier: String? { session.identifier }

    open override var description: String {
        "<CKContainer: \(address(of: self)); containerIdentifier=\(containerIdentifier ?? "")>"
    }

    open override var debugDescription: String { description }

    /// The database of records that only the account can access.
    open var privateCloudDatabase: CKDatabase { database(with: .private) }

    /// The database of records that all users of the app share.
    open var publicCloudDatabase: CKDatabase { database(with: .public) }

    /// The database of records that other users share with the account.
    open var sharedCloudDatabase: CKDatabase { database(with: .shared) }

    /// Returns the database of a scope, which is always the same object.
    open func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
        // `databases` is in the order of the raw values, which start at 1.
        databases[databaseScope.rawValue - 1]
    }

    /// The account as which new operations start.
    var account: AccountSession { configured.account ?? session.account }

    /// The parameters of requests about the account, as the container is configured (`configuredWith`).
    var accountCall: ServiceCall {
        let values = configured.values ?? ConfigurationValues()
        return ServiceCall(scope: .public, values.merged(over: configured.group?.defaultConfiguration.snapshot))
    }

    /// Runs an operation in this container.
    open func add(_ operation: CKOperation) {
        operation.configuration.container = self
        operation.begin(as: account, in: session)
        operation.inherit(configured.values, group: configured.group)
        session.queue.addOperation(operation)
    }

    /// Runs the operation of a convenience method. It is user-initiated unless this container is configured otherwise.
    func run(_ operation: CKOperation) {
        operation.configuration.container = self
        operation.begin(as: account, in: session)
        let userWaits = ConfigurationValues(qualityOfService: .userInitiated)
        operation.inherit(configured.values?.merged(over: userWaits) ?? userWaits, group: configured.group)
        operation.start()
    }

    /// Calls `body` with a copy of this container. Operations of the copy take the values that they do not set
    /// themselves from `configuration` and `group`; nil leaves the values unchanged.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (_ configuredContainer: CKContainer) throws -> R
    ) rethrows -> R {
        try body(configured(with: configuration, group))
    }

    /// Calls `body` with a copy of this container. Operations of the copy take the values that they do not set
    /// themselves from `configuration` and `group`; nil leaves the values unchanged.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: @Sendable (_ configuredContainer: CKContainer) async throws -> R
    ) async rethrows -> R {
        try await body(configured(with: configuration, group))
    }

    private func configured(with configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> CKContainer {
        CKContainer(session, configured.adding(configuration, group))
    }

    // MARK: The account

    // All methods are open, as Apple's Objective-C methods are, because the tests of apps override them.

    /// Passes the status of the account to the handler. A missing account is not an error, but an unknown status is.
    @preconcurrency
    open func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
        callBack(completionHandler) { container in
            do {
                return (try await container.currentAccountStatus(), nil)
            } catch {
                return (.couldNotDetermine, error)
            }
        }
    }

    /// Returns the status of the account. Without a network the account that is signed in here is available.
    /// - Throws: `CKError` if the status is unknown.
    open func accountStatus() async throws -> CKAccountStatus {
        guard isSubclass else { return try await currentAccountStatus() }
        return try await resultOfHandler { handler in
            accountStatus { status, error in handler(error == nil ? status : nil, error) }
        }
    }

    /// Fetches the ID of the account's user record in this container. Fails with `notAuthenticated` if there is no
    /// account.
    @preconcurrency
    open func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
        callBack(completionHandler) { container in
            do {
                return (try await container.currentUserRecordID(), nil)
            } catch {
                return (nil, error)
            }
        }
    }

    /// Returns the ID of the account's user record in this container.
    /// - Throws: `CKError`: `.notAuthenticated` if there is no account.
    open func userRecordID() async throws -> CKRecord.ID {
        try await isSubclass
            ? resultOfHandler { fetchUserRecordID(completionHandler: $0) } : currentUserRecordID()
    }

    // MARK: Long-lived operations

    /// Fetches the IDs of the unfinished long-lived operations. There are none, because operations do not outlive the
    /// process here.
    @preconcurrency
    open func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        callBack(completionHandler) { _ in ([], nil) }
    }

    /// Returns the IDs of the unfinished long-lived operations. There are none, because operations do not outlive the
    /// process here.
    open func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        try await isSubclass ? resultOfHandler { fetchAllLongLivedOperationIDs(completionHandler: $0) } : []
    }

    /// Fetches the long-lived operation with an ID. The result is always nil, because operations do not outlive the
    /// process here.
    @preconcurrency
    open func fetchLongLivedOperation(
        withID operationID: CKOperation.ID, completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        callBack(completionHandler) { _ in (nil, nil) }
    }

    /// Returns the long-lived operation with an ID. The result is always nil, because operations do not outlive the
    /// process here.
    open func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        guard isSubclass else { return nil }
        return try await optionalResultOfHandler { fetchLongLivedOperation(withID: operationID, completionHandler: $0) }
    }

    // MARK: Sharing

    /// Creates a participant for the user with an e-mail address.
    @preconcurrency
    open func fetchShareParticipant(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        fetchParticipant(CKUserIdentity.LookupInfo(emailAddress: emailAddress), completionHandler)
    }

    /// Creates a participant for the user with an e-mail address.
    open func shareParticipant(forEmailAddress emailAddress: String) async throws -> CKShare.Participant {
        try await isSubclass
            ? resultOfHandler { fetchShareParticipant(withEmailAddress: emailAddress, completionHandler: $0) }
            : participant(CKUserIdentity.LookupInfo(emailAddress: emailAddress))
    }

    /// Creates a participant for the user with a phone number.
    @preconcurrency
    open func fetchShareParticipant(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        fetchParticipant(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber), completionHandler)
    }

    /// Creates a participant for the user with a phone number.
    open func shareParticipant(forPhoneNumber phoneNumber: String) async throws -> CKShare.Participant {
        try await isSubclass
            ? resultOfHandler { fetchShareParticipant(withPhoneNumber: phoneNumber, completionHandler: $0) }
            : participant(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber))
    }

    /// Creates a participant for a user of the container. Fails with `unknownItem` if no user has this ID.
    @preconcurrency
    open func fetchShareParticipant(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        fetchParticipant(CKUserIdentity.LookupInfo(userRecordID: userRecordID), completionHandler)
    }

    /// Creates a participant for a user of the container. Fails with `unknownItem` if no user has this ID.
    open func shareParticipant(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKShare.Participant {
        try await isSubclass
            ? resultOfHandler { fetchShareParticipant(withUserRecordID: userRecordID, completionHandler: $0) }
            : participant(CKUserIdentity.LookupInfo(userRecordID: userRecordID))
    }

    /// Fetches the metadata of a share. Fails with `unknownItem` if no share has this URL.
    @preconcurrency
    open func fetchShareMetadata(
        with url: URL, completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
    ) {
        fetchMetadata(url, completionHandler)
    }

    /// Fetches the metadata of a share. Fails with `unknownItem` if no share has this URL.
    open func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
        try await isSubclass
            ? resultOfHandler { fetchShareMetadata(with: url, completionHandler: $0) }
            : shareMetadatas(for: [url]).item(url)
    }

    /// Accepts the share that the metadata describes.
    @preconcurrency
    open func accept(
        _ metadata: CKShare.Metadata, completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
    ) {
        acceptShare(metadata, completionHandler)
    }

    /// Accepts the share that the metadata describes, and returns the share.
    @discardableResult
    open func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
        try await isSubclass
            ? resultOfHandler { accept(metadata, completionHandler: $0) } : accept([metadata]).item(metadata)
    }

    // MARK: Permissions and discovery

    /// Reports `.initialState`, because the system no longer asks users for permissions.
    @available(*, deprecated, message: "CloudKit no longer grants permissions")
    open func status(
        forApplicationPermission applicationPermission: CKContainer.ApplicationPermissions,
        completionHandler: @escaping CKContainer.ApplicationPermissionBlock
    ) {
        nonisolated(unsafe) let completionHandler = completionHandler
        callBack({ completionHandler($0, $1) }) { _ in (.initialState, nil) }
    }

    /// Returns `.initialState`, because the system no longer asks users for permissions.
    @available(*, deprecated, message: "CloudKit no longer grants permissions")
    open func applicationPermissionStatus(
        for applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        guard isSubclass else { return .initialState }
        return try await resultOfHandler { handler in
            status(forApplicationPermission: applicationPermission) { handler($1 == nil ? $0 : nil, $1) }
        }
    }

    /// Always fails, because the system no longer asks users for permissions.
    @available(*, deprecated, message: "CloudKit no longer grants permissions")
    open func requestApplicationPermission(
        _ applicationPermission: CKContainer.ApplicationPermissions,
        completionHandler: @escaping CKContainer.ApplicationPermissionBlock
    ) {
        nonisolated(unsafe) let completionHandler = completionHandler
        callBack({ completionHandler($0, $1) }) { container in (.couldNotComplete, container.permissionsAreGone) }
    }

    /// Always fails, because the system no longer asks users for permissions.
    @available(*, deprecated, message: "CloudKit no longer grants permissions")
    open func requestApplicationPermission(
        _ applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        guard isSubclass else { throw permissionsAreGone }
        return try await resultOfHandler { handler in
            requestApplicationPermission(applicationPermission) { handler($1 == nil ? $0 : nil, $1) }
        }
    }

    /// Passes no users to the handler. This library discovers none.
    @available(*, deprecated, message: "CloudKit no longer discovers users")
    @preconcurrency
    open func discoverAllIdentities(completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void) {
        discover([CKUserIdentity](), completionHandler)
    }

    /// Returns no users. This library discovers none.
    @available(*, deprecated, message: "CloudKit no longer discovers users")
    open func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] {
        try await isSubclass ? resultOfHandler { discoverAllIdentities(completionHandler: $0) } : discovered([])
    }

    /// Passes neither an identity nor an error to the handler. This library discovers no users.
    @available(*, deprecated, message: "CloudKit no longer discovers users")
    @preconcurrency
    open func discoverUserIdentity(
        withEmailAddress email: String, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(nil, completionHandler)
    }

    /// Returns nil. This library discovers no users.
    @available(*, deprecated, message: "CloudKit no longer discovers users")
    open func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? {
        guard isSubclass else { return try await discovered(nil) }
        return try await optionalResultOfHandler {
            discoverUserIdentity(withEmailAddress: email, completionHandler: $0)
        }
    }

    /// Passes neither an identity nor an error to the handler. This library discovers no users.
    @available(*, deprecated, message: "CloudKit no longer discovers users")
    @preconcurrency
    open func discoverUserIdentity(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(nil, completionHandler)
    }

    /// Returns nil. This library discovers no users.
    @available(*, deprecated, message: "CloudKit no longer discovers users")
    open func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
        guard isSubclass else { return try await discovered(nil) }
        return try await optionalResultOfHandler {
            discoverUserIdentity(withPhoneNumber: phoneNumber, completionHandler: $0)
        }
    }

    /// Passes neither an identity nor an error to the handler. This library discovers no users.
    @available(*, deprecated, message: "CloudKit no longer discovers users")
    @preconcurrency
    open func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(nil, completionHandler)
    }

    /// Returns nil. This library discovers no users.
    @available(*, deprecated, message: "CloudKit no longer discovers users")
    open func userIdentity(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKUserIdentity? {
        guard isSubclass else { return try await discovered(nil) }
        return try await optionalResultOfHandler {
            discoverUserIdentity(withUserRecordID: userRecordID, completionHandler: $0)
        }
    }
}

extension CKContainer.Configured {
    /// Returns these values, overridden by the values of a nested `configuredWith`.
    func adding(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> CKContainer.Configured {
        CKContainer.Configured(
            values: configuration?.snapshot.merged(over: values) ?? values, group: group ?? self.group, account: account
        )
    }
}

// The initializer of Apple's framework returns an object of the class on which it is called. In Swift only a required
// initializer does that, and an app's subclass with its own initializers would have to repeat it. The initializer below
// avoids this. Swift selects it where the initializer of the class is unavailable (`Self(identifier:)` in an app's
// extension).

/// Provides `init(identifier:)` for `Self`. Not part of Apple's API.
public protocol CKContainerMakingByIdentifier {}

extension CKContainer: CKContainerMakingByIdentifier {}

extension CKContainerMakingByIdentifier where Self: CKContainer {
    /// Creates a container with an identifier. The program stops for a subclass, because this initializer cannot create
    /// an object of one.
    public init(identifier containerIdentifier: String) {
        guard let container = CKContainer(identifier: containerIdentifier) as? Self else {
            raise("CKContainer: a subclass cannot be made by Self(identifier:).")
        }
        self = container
    }
}
