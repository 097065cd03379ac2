public import Foundation

extension NSNotification.Name {
    /// Posted, on any thread, when the account changes that CloudKit is used with.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public static let CKAccountChanged = NSNotification.Name("CKAccountChangedNotification")
}

/// An app's data in iCloud: its three databases and what concerns the account (CKContainer, Apple's documentation).
open class CKContainer: NSObject, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: everything in here is a constant.

    let session: ContainerSession
    private let databases: [CKDatabase]
    /// What `configuredWith` gave to this object.
    private let configured: Configured

    /// What `configuredWith` gives to operations; nothing in an object that it did not make.
    struct Configured: Sendable {
        var values: ConfigurationValues?
        var group: CKOperationGroup?
    }

    init(_ session: ContainerSession, _ configured: Configured = Configured()) {
        self.session = session
        self.configured = configured
        databases = CKDatabase.Scope.allCases.map { CKDatabase($0, session, configured) }
        super.init()
        for database in databases { database.adopt(self) }
    }

    /// The container with that identifier, `iCloud.` and a name in reverse-DNS order.
    public required init(identifier containerIdentifier: String) {
        precondition(!containerIdentifier.isEmpty, "The identifier of a CKContainer must not be empty.")
        session = ServiceDirectory.shared.session(for: containerIdentifier)
        configured = Configured()
        databases = CKDatabase.Scope.allCases.map { [session, configured] in CKDatabase($0, session, configured) }
        super.init()
        for database in databases { database.adopt(self) }
    }

    /// A container that `service` answers for.
    package convenience init(
        identifier containerIdentifier: String, service: any CloudService, environment: SyncEngineEnvironment = .system
    ) {
        self.init(ContainerSession(containerIdentifier, service, environment: environment))
    }

    @available(*, unavailable, message: "use CKContainer.default() or CKContainer(identifier:)")
    public override init() { preconditionFailure("CKContainer has no init(): use default() or init(identifier:).") }

    /// The app's own container: `CloudKitEnvironment` says which.
    open class func `default`() -> CKContainer { ServiceDirectory.shared.defaultContainer() }

    /// The container's identifier.
    open var containerIdentifier: String? { session.identifier }

    /// The database that only the account can use.
    open var privateCloudDatabase: CKDatabase { database(with: .private) }

    /// The database that all of the app's users share.
    open var publicCloudDatabase: CKDatabase { database(with: .public) }

    /// The database with what other users share with the account.
    open var sharedCloudDatabase: CKDatabase { database(with: .shared) }

    /// The database of that scope; always the same object.
    open func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
        // `databases` is in the order of the raw values, which start at 1.
        databases[databaseScope.rawValue - 1]
    }

    /// Whether there is an account. No account is no error; not being able to tell is.
    @preconcurrency
    open func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
        callBack(completionHandler) { container in
            do {
                return (try await container.accountStatus(), nil)
            } catch {
                return (.couldNotDetermine, error)
            }
        }
    }

    /// The ID of the account's user record in this container.
    @preconcurrency
    open func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
        callBack(completionHandler) { container in
            do {
                return (try await container.userRecordID(), nil)
            } catch {
                return (nil, error)
            }
        }
    }

    /// Runs an operation in this container.
    open func add(_ operation: CKOperation) {
        operation.configuration.container = self
        operation.inherit(configured.values, group: configured.group)
        session.queue.addOperation(operation)
    }

    /// Runs an operation of a convenience method: as something a user waits for, unless this container is configured
    /// otherwise.
    func run(_ operation: CKOperation) {
        operation.configuration.container = self
        let userWaits = ConfigurationValues(qualityOfService: .userInitiated)
        operation.inherit(configured.values?.merged(over: userWaits) ?? userWaits, group: configured.group)
        session.queue.addOperation(operation)
    }

    /// Gives `body` a container whose operations use `configuration` and `group`, except where they say otherwise
    /// themselves. This container stays as it is.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (_ configuredContainer: CKContainer) throws -> R
    ) rethrows -> R {
        try body(configured(with: configuration, group))
    }

    /// Gives `body` a container whose operations use `configuration` and `group`, except where they say otherwise
    /// themselves. This container stays as it is.
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
}

extension CKContainer.Configured {
    /// These, under what a further `configuredWith` gives.
    func adding(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> CKContainer.Configured {
        CKContainer.Configured(
            values: configuration?.snapshot.merged(over: values) ?? values, group: group ?? self.group)
    }
}
