/// Tells that something changed in a database (CKDatabaseNotification, Apple's documentation).
open class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    /// The database.
    open var databaseScope: CKDatabase.Scope { content.scope ?? .private }
}
