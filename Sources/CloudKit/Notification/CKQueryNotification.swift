/// Tells of a record that matches the query of a subscription (CKQueryNotification, Apple's documentation).
open class CKQueryNotification: CKNotification, @unchecked Sendable {
    /// What happened to the record.
    public enum Reason: Int, Sendable, BitwiseCopyable {
        /// A record that matches the subscription's query was saved for the first time.
        case recordCreated = 1
        /// A record that matches the subscription's query was changed.
        case recordUpdated = 2
        /// A record that matched the subscription's query is gone.
        case recordDeleted = 3
    }

    /// What happened to the record.
    open var queryNotificationReason: CKQueryNotification.Reason { content.reason ?? .recordUpdated }

    /// The values of the fields that the subscription's `desiredKeys` name; of a record that was created or changed
    /// only, and only of those that have a value.
    open var recordFields: [String: Any]? { content.recordFields }

    /// The record; nil where it was pruned.
    open var recordID: CKRecord.ID? {
        content.recordName.map { CKRecord.ID(unchecked: $0, zoneID: content.zoneID ?? .default) }
    }

    /// The database that the record is in.
    open var databaseScope: CKDatabase.Scope { content.scope ?? .public }
}
