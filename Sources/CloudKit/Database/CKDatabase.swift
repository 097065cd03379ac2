public import Foundation

/// One of a container's three stores of records (CKDatabase, Apple's documentation).
///
/// Its methods are conveniences over operations, which they run as something that a user waits for; their handlers are
/// called on no queue in particular, but never on the main one.
open class CKDatabase: NSObject, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: everything in here is a constant, but for the weak reference in a lock.

    /// Which of a container's databases.
    public enum Scope: Int, Hashable, Sendable, CaseIterable {
        case `public` = 1
        case `private` = 2
        case shared = 3
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

    @available(*, unavailable, message: "use a database of a CKContainer")
    public override init() { preconditionFailure("CKDatabase has no init(): use a database of a CKContainer.") }

    /// Which of the container's databases this is.
    open var databaseScope: CKDatabase.Scope { scope }

    /// Makes `container` the one this database belongs to.
    func adopt(_ container: CKContainer) { owner.container = container }

    /// The container this database belongs to; if the app let go of it, another one that stands for the same.
    var container: CKContainer { owner.container ?? CKContainer(session) }

    /// Runs an operation in this database.
    open func add(_ operation: CKDatabaseOperation) {
        operation.database = self
        operation.inherit(configured.values, group: configured.group)
        session.queue.addOperation(operation)
    }

    /// Runs an operation of a convenience method: as something a user waits for, unless this database is configured
    /// otherwise.
    func run(_ operation: CKDatabaseOperation) {
        operation.database = self
        let userWaits = ConfigurationValues(qualityOfService: .userInitiated)
        operation.inherit(configured.values?.merged(over: userWaits) ?? userWaits, group: configured.group)
        session.queue.addOperation(operation)
    }

    /// Gives `body` a database whose operations use `configuration` and `group`, except where they say otherwise
    /// themselves. This database stays as it is.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (_ configuredDatabase: CKDatabase) throws -> R
    ) rethrows -> R {
        try body(configured(with: configuration, group))
    }

    /// Gives `body` a database whose operations use `configuration` and `group`, except where they say otherwise
    /// themselves. This database stays as it is.
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
}

/// The old name of `CKDatabase.Scope`.
@available(*, deprecated, renamed: "CKDatabase.Scope")
public typealias CKDatabaseScope = CKDatabase.Scope
