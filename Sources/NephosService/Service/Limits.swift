/// Every limit, with its source.
package enum Limits {
    /// Characters in a record name: `CKRecord.ID`, Apple's documentation.
    package static let recordNameLength = 255
    /// Characters in a zone name: `CKRecordZone`, Apple's documentation.
    package static let zoneNameLength = 255
    /// Characters in a record type or a field's name: `CKRecord`, Apple's header.
    package static let identifierLength = 255
    /// Bytes of a record's data without its assets: `CKRecord`, Apple's documentation ("must not exceed 1 MB").
    package static let recordSize = 1 << 20
    /// Operations in a request: `CKError.limitExceeded`, Apple's documentation.
    package static let operationsPerRequest = 400
    /// Operations in a request in strict mode: CloudKit Web Services, Data Size Limits.
    package static let strictOperationsPerRequest = 200
    /// Bytes of a request without assets: `CKError.limitExceeded`, Apple's documentation.
    package static let requestSize = 2 << 20
    /// Records that may point at one record with `DELETE_SELF`, in strict mode: CloudKit Web Services, Data Size
    /// Limits.
    package static let strictDeleteSelfSources = 750

    /// Changes in a page of a feed: CloudKit Web Services, Data Size Limits ("records in a response").
    package static let changesPerPage = 200
    /// The same of packed records, which only our own library asks for, after the first page of a fetch.
    package static let packedChangesPerPage = 1000

    /// Bytes of records in a page of a feed, but for the last record: as many as a request may have.
    static let changesSize = requestSize
    /// Records that one request for changes reads, those included that say nothing new.
    static let changesReadPerRequest = 2000
    /// Milliseconds that a feed remembers deletions, unless it is told otherwise: half a year.
    package static let deletionRetention: Int64 = 180 * 24 * 60 * 60 * 1000
    /// Milliseconds after which old deletions are looked for again.
    static let purgeInterval: Int64 = 60 * 60 * 1000
    /// The same where they are remembered for less than that.
    static let shortestPurgeInterval: Int64 = 1000
    /// Zones in a page of an administrator's list.
    static let zonesPerPage = 1000

    /// Records a background step deletes in one transaction, so that other writers get their turn.
    static let recordsPerBackgroundStep = 200
    /// Edges that are read at a time.
    static let referencesPerRead = 1000

    /// Records that building an index reads in one transaction, so that other writers get their turn, and at a time.
    static let recordsPerIndexStep = 1000
    static let recordsPerIndexRead = 100

    /// Bytes of memory for the entries that building an index sorts at a time, and how many of them it then writes in one
    /// transaction.
    static let indexBuildMemory = 32 * 1024 * 1024
    static let entriesPerIndexWrite = 2000

    /// Bytes of a subscription's ID.
    package static let subscriptionIDLength = 255
    /// Bytes of a subscription in JSON.
    package static let subscriptionSize = 64 * 1024
    /// Fields that a notification sends along: `CKSubscription.NotificationInfo.desiredKeys`, Apple's documentation.
    package static let notificationFields = 3
    /// Characters after which a field's text in a notification is cut: the same.
    static let notificationTextLength = 100
    /// Bytes of a notification: Apple Push Notification service, "Create the JSON payload".
    package static let notificationSize = 4096
    /// Bytes of what makes notifications replace each other: Apple Push Notification service, `apns-collapse-id`.
    static let collapseIDLength = 64
    /// Notifications that wait for one destination; the oldest make room.
    package static let waitingNotifications = 1000
    /// Notifications that are read at a time to find one.
    static let notificationsPerRead = 1000
    /// Notifications that are being sent at a time, by store.
    static let concurrentDeliveries = 64
    /// Characters of a push token, and bytes of a client's own name.
    static let pushTokenLength = 512
    static let clientIDLength = 255
    /// Milliseconds after which a client that does not poll any more is forgotten: 30 days.
    package static let pushTokenLifetime: Int64 = 30 * 24 * 60 * 60 * 1000
    /// Entries that a step of removing an index removes, and zones that it looks into.
    static let entriesPerIndexRemoval = 2000
    static let zonesPerIndexRemoval = 200
    /// Records that are looked at in one snapshot for what a change of schema would drop.
    static let recordsPerLossRead = 1000
    /// Records written since that look that the change's own transaction looks at; where there are more, the look is
    /// taken again.
    static let changesPerLossCheck = 2000
}
