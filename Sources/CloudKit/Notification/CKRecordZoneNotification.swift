/// A notification of a change in a record zone (CKRecordZoneNotification, Apple's documentation).
open class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    /// The ID of the changed zone; nil if it was pruned.
    open var recordZoneID: CKRecordZone.ID? { content.zoneID }

    /// The scope of the zone's database.
    open var databaseScope: CKDatabase.Scope { content.scope ?? .private }
}
