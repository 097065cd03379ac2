/// The base class of the operations that work on a database (CKDatabaseOperation, Apple's documentation). Apps use its
/// subclasses.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    private let target = Locked<CKDatabase?>(nil)

    public override init() { super.init() }

    /// The database of the operation; by default the private database of the operation's container. Setting it also
    /// sets the container. Setting nil selects the private database of that container.
    open var database: CKDatabase? {
        get { effectiveDatabase(effectiveConfiguration) }
        set {
            target.exchange(newValue)
            if let newValue { configuration.container = newValue.container }
        }
    }

    /// Returns the operation's database under its effective configuration.
    private func effectiveDatabase(_ values: ConfigurationValues) -> CKDatabase {
        target.withLock { $0 } ?? ((values.container ?? nil) ?? CKContainer.default()).privateCloudDatabase
    }

    override func noteAccount() { _ = account(in: effectiveDatabase(effectiveConfiguration).session) }

    /// The origin that the operation's errors name.
    var errorContext: ErrorContext {
        let database = effectiveDatabase(effectiveConfiguration)
        return ErrorContext(
            account(in: database.session), scope: database.databaseScope, operationID: operationID)
    }

    /// Returns the context of the operation's requests under the effective configuration.
    func makeRequestContext() -> DatabaseRequestContext {
        let values = effectiveConfiguration
        let database = effectiveDatabase(values)
        let account = account(in: database.session)
        return DatabaseRequestContext(
            session: account,
            call: ServiceCall(scope: database.databaseScope, values),
            errors: ErrorContext(account, scope: database.databaseScope, operationID: operationID))
    }
}
