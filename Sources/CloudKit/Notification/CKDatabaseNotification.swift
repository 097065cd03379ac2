/// Tells that something changed in a database (CKDatabaseNotification, Apple's documentation).
open class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    /// In which of the container's databases something changed.
    open var databaseScope: CKDatabase.Scope { content.scope ?? .private }
}
