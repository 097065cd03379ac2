/// Tells that something changed in a record zone (CKRecordZoneNotification, Apple's documentation).
open class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    /// The zone; nil where it was pruned.
    open var recordZoneID: CKRecordZone.ID? { content.zoneID }

    /// The database that the zone is in.
    open var databaseScope: CKDatabase.Scope { content.scope ?? .private }
}
