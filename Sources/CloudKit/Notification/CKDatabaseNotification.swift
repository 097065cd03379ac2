/// A notification of a change in a database (CKDatabaseNotification, Apple's documentation).
open class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    /// The scope of the changed database.
    open var databaseScope: CKDatabase.Scope { content.scope ?? .private }
}
