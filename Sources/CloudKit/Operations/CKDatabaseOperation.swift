/// The base of the operations that work on a database (CKDatabaseOperation, Apple's documentation). Use its subclasses.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    private let target = Locked<CKDatabase?>(nil)

    public override init() { super.init() }

    /// The database. Until it is set it is the private database of the operation's container. Setting it also sets the
    /// container; nil undoes that.
    open var database: CKDatabase? {
        get { effectiveDatabase(effectiveConfiguration) }
        set {
            target.exchange(newValue)
            if let newValue { configuration.container = newValue.container }
        }
    }

    /// The database the operation works on, by the configuration that holds now.
    private func effectiveDatabase(_ values: ConfigurationValues) -> CKDatabase {
        target.withLock { $0 } ?? ((values.container ?? nil) ?? CKContainer.default()).privateCloudDatabase
    }

    override func noteAccount() { _ = account(in: effectiveDatabase(effectiveConfiguration).session) }

    /// What the operation's errors say about where they come from.
    var errorContext: ErrorContext {
        let database = effectiveDatabase(effectiveConfiguration)
        return ErrorContext(
            account(in: database.session), scope: database.databaseScope, operationID: operationID)
    }

    /// What the operation needs to ask the service, by the configuration that holds now.
    func makeRequestContext() -> DatabaseRequestContext {
        let values = effectiveConfiguration
        let database = effectiveDatabase(values)
        let account = account(in: database.session)
        return DatabaseRequestContext(
            session: account,
            call: ServiceCall(
                scope: database.databaseScope,
                requestTimeout: values.timeoutIntervalForRequest ?? ConfigurationValues.defaultRequestTimeout,
                resourceTimeout: values.resourceTimeout),
            errors: ErrorContext(account, scope: database.databaseScope, operationID: operationID))
    }
}
