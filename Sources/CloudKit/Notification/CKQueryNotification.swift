/// A notification of a change to a record that matches a subscription's query (CKQueryNotification, Apple's
/// documentation).
open class CKQueryNotification: CKNotification, @unchecked Sendable {
    /// The kind of change to the record.
    public enum Reason: Int, Sendable, BitwiseCopyable {
        /// A record that matches the subscription's query was saved for the first time.
        case recordCreated = 1
        /// A record that matches the subscription's query was changed.
        case recordUpdated = 2
        /// A record that matched the subscription's query was deleted.
        case recordDeleted = 3
    }

    /// The kind of change to the record.
    open var queryNotificationReason: CKQueryNotification.Reason { content.reason ?? .recordUpdated }

    /// The values of the fields in the subscription's `desiredKeys`. A field without a value is absent. Nil if there
    /// are no values, as for a deletion.
    open var recordFields: [String: Any]? { content.recordFields }

    /// The ID of the changed record; nil if it was pruned.
    open var recordID: CKRecord.ID? {
        content.recordName.map { CKRecord.ID(unchecked: $0, zoneID: content.zoneID ?? .default) }
    }

    /// The scope of the record's database.
    open var databaseScope: CKDatabase.Scope { content.scope ?? .public }
}
