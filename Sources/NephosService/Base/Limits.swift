/// Every limit, with its unit and source. Limits without a source are ours.
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
    /// Bytes of a request's data as stored, without assets: `CKError.limitExceeded`, Apple's documentation.
    package static let requestSize = 2 << 20
    /// Bytes of the HTTP body of a request that saves records, before and after inflation. It admits every request
    /// within the limits above: JSON takes up to six times the bytes of a string, five times those of a location.
    package static let requestBodySize = 8 * requestSize
    /// Containers that one overview of a service reads. Ours.
    static let overviewContainers = 50
    /// Zones that an overview reads of each container. Ours.
    static let overviewZones = 1000
    /// Records that an overview reads of each container. Ours.
    static let overviewRecords = 20_000
    /// Records that may refer to one record with `DELETE_SELF`: `CKRecord.Reference`, Apple's documentation ("This
    /// limit is 750 references, and any attempt to exceed it results in an error from the server"); CloudKit Web
    /// Services, Data Size Limits.
    ///
    /// Counts sources of one creator, among the first `ownedRead` references.
    package static let deleteSelfSources = 750
    /// References examined to count the `DELETE_SELF` sources of one creator.
    static let ownedRead = 2000
    /// References to a record of the public database that its deletion examines for a blocking one; later ones do not
    /// block.
    static let holdersRead = 2000

    /// Fields of a record type that saves may create in development: every reader and writer traverses the whole
    /// schema.
    package static let fieldsPerType = 500
    /// Record types that saves may create in development.
    package static let typesPerContainer = 500
    /// Record types that one account's saves may create, so that no account exhausts `typesPerContainer`.
    package static let typesPerAccount = 100
    /// Fields that one account's saves may add to a record type that they did not create.
    package static let fieldsPerAccount = 100
    /// Composite indexes that a schema declares for a record type: every save updates all of them.
    static let indexesPerType = 24
    /// Fields of a composite index.
    static let fieldsPerIndex = 8
    /// Fields of a composite index that are compared for equality.
    static let equalitiesPerIndex = 3
    /// Queued long reads of an account.
    static let waitingLongReads = 256
    /// Bytes of record fields in a lookup's answer, excluding the last record; also of the records that a request's
    /// saves write or find, all of which its answer holds.
    package static let lookupSize = 32 << 20
    /// Bytes of a zone's `clientChangeToken`.
    package static let clientChangeTokenSize = 16 << 10

    /// Changes in a page of a change feed: CloudKit Web Services, Data Size Limits ("records in a response").
    package static let changesPerPage = 200
    /// Changes in a page of packed records, which only our own library requests, after the first page of a fetch.
    package static let packedChangesPerPage = 1000
    /// Bytes of records in a packed page, excluding the last record: as many as a short read (`ReadMeter.shortRead`)
    /// reads.
    static let packedChangesSize = 512 << 10

    /// Bytes of records in a page of a change feed, excluding the last record: as many as a request may have.
    static let changesSize = requestSize
    /// Records that one request for changes scans, including those that add nothing to the answer.
    static let changesReadPerRequest = 2000
    /// Milliseconds that a change feed retains tombstones, unless configured otherwise: half a year.
    package static let deletionRetention: Int64 = 180 * 24 * 60 * 60 * 1000
    /// Milliseconds between two purges of tombstones, and of unneeded asset files.
    static let purgeInterval: Int64 = 60 * 60 * 1000
    /// Characters of a request's idempotency key.
    static let requestKeyLength = 64
    /// Milliseconds that a request's outcome is stored.
    static let requestKeyLifetime: Int64 = 60 * 60 * 1000
    /// Milliseconds between two purges of outcomes.
    static let requestKeyPurgeInterval: Int64 = 10 * 60 * 1000
    /// Outcomes of an account that a purge keeps.
    static let requestKeysPerAccount = 100_000
    /// Outcomes of a store that a purge keeps; it removes the excess from the accounts with the most.
    static let requestKeys = 1_000_000
    /// Bytes of a stored outcome. The outcome of 400 records without their fields has 150,000.
    static let requestOutcomeSize = 1 << 20
    /// Bytes of an account's stored outcomes that a purge keeps.
    static let requestOutcomesSize = 64 << 20
    /// Bytes of outcomes that an account may add before its next purge.
    static let requestOutcomesAhead = 16 << 20
    /// Milliseconds between two purges of tombstones at least, for a retention shorter than `purgeInterval`.
    static let shortestPurgeInterval: Int64 = 1000
    /// Zones in a page of an administrator's list.
    static let zonesPerPage = 1000
    /// Accounts in a page of an administrator's list.
    static let accountsPerPage = 1000
    /// Shares of a zone that are counted for the report of an account's deletion.
    static let sharesCounted = 10_000

    /// Concurrently open stores: each has about nine files and 1 MB of memory.
    package static let openStores = 256
    /// Milliseconds after which an unused store is closed.
    package static let storeIdleTime: Int64 = 5 * 60 * 1000
    /// Open stores beyond which unused ones are closed after `crowdedStoreIdleTime`.
    static let crowdedStores = 64
    /// Milliseconds after which an unused store is closed if more than `crowdedStores` are open.
    static let crowdedStoreIdleTime: Int64 = 10 * 1000
    /// Drafts in memory: containers that accounts read before their first write (`Draft`).
    static let drafts = 16
    /// Threads that open stores and check which exist.
    static let openingThreads = 4
    /// Milliseconds between two readiness checks, which write.
    static let readinessInterval: Int64 = 1000
    /// Milliseconds after which a readiness check's write counts as hung.
    static let readinessPatience: Int64 = 5000
    /// Stores that a readiness check writes.
    static let storesPerReadinessCheck = 8
    /// Milliseconds between two checks for closed stores that have pending work.
    static let workLookInterval: Int64 = 60 * 1000
    /// Stores with pending work that one check opens; it also retries up to as many that failed to open.
    static let storesPerLook = 64
    /// Jobs that are read at a time to find one that is due.
    static let jobsPerRead = 64
    /// Milliseconds until the first retry of a failed job; the pause doubles with each failure, up to
    /// `longestJobPause`.
    static let firstJobPause: Int64 = 1000
    /// Milliseconds until any retry of a failed job at most.
    static let longestJobPause: Int64 = 5 * 60 * 1000
    /// Time that a background step may block other writers; after a longer one, the next step is smaller.
    static let backgroundStepTime = Duration.milliseconds(50)
    /// Records that the first background step deletes in one transaction.
    static let recordsPerBackgroundStep = 200
    /// Records that a cascade reads at a time.
    static let recordsPerCascadeRead = 1000
    /// Records for which a write finds the cascade itself; a larger cascade is found before the write begins.
    static let recordsPlannedInWrite = 1000
    /// Records that may be written in a zone while a cascade is found there; after more, the search restarts.
    static let changesBesideCascade = 1000
    /// Records of a found cascade that are kept in memory; the write reads the remainder again.
    static let recordsKeptOfCascade = 200_000
    /// References that are read at a time.
    static let referencesPerRead = 1000

    /// Records that building an index reads in one transaction, so that other writers are not blocked.
    static let recordsPerIndexStep = 1000
    /// Records that building an index reads at a time.
    static let recordsPerIndexRead = 100

    /// Bytes of memory for the entries that building an index sorts at a time.
    static let indexBuildMemory = 32 * 1024 * 1024
    /// Sorted entries that building an index writes in one transaction.
    static let entriesPerIndexWrite = 2000

    /// Bytes of a subscription's ID.
    package static let subscriptionIDLength = 255
    /// Bytes of a subscription in JSON.
    package static let subscriptionSize = 64 * 1024
    /// Subscriptions of an account in a database.
    package static let subscriptionsPerDatabase = 1000
    /// Push tokens of an account: each notification has an outbox row for each. A new token evicts the least recently
    /// seen one.
    package static let pushTokensPerAccount = 100
    /// Bytes of records in one change event, excluding the last record.
    static let changeEventSize = 256 * 1024
    /// Records in one change event.
    static let changesPerEvent = 100
    /// Equal change events that one fan-out coalesces.
    static let changeEventsPerFanOut = 16
    /// Subscriptions that are examined in one snapshot.
    static let subscriptionsPerFanOut = 100
    /// Notifications that are made in one snapshot. One event makes at most `waitingNotifications` for an account.
    static let notificationsPerFanOut = 400
    /// Change events that wait for their fan-out; the oldest are evicted.
    static let waitingChangeEvents: Int64 = 20_000
    /// Change events that one transaction evicts.
    static let changeEventsPerRemoval = 500
    /// Failed change events that back off; beyond them the oldest is retried at once.
    static let failedChangeEvents = 64
    /// Jobs of an owner that are read to find one that notifies, which precedes the owner's others.
    static let jobsReadForNotification = 1024
    /// Outbox rows that the background writes in one transaction, excluding the last notification's, so that other
    /// writers are not blocked.
    static let outboxRowsPerFanOut = 200
    /// Fields in a notification: `CKSubscription.NotificationInfo.desiredKeys`, Apple's documentation.
    package static let notificationFields = 3
    /// Characters of a field's text in a notification, which is truncated:
    /// `CKSubscription.NotificationInfo.desiredKeys`, Apple's documentation.
    static let notificationTextLength = 100
    /// Bytes of a notification: Apple Push Notification service, "Create the JSON payload".
    package static let notificationSize = 4096
    /// Bytes of a collapse ID, by which a notification replaces an earlier one: Apple Push Notification service,
    /// `apns-collapse-id`.
    static let collapseIDLength = 64
    /// Notifications that wait for one destination; the oldest are evicted.
    package static let waitingNotifications = 1000
    /// Notifications that are read at a time to find one by its ID.
    static let notificationsPerRead = 1000
    /// Concurrent deliveries of a store's notifications.
    static let concurrentDeliveries = 64
    /// Milliseconds that a server's claim on a notification lasts, if several servers send: far longer than a delivery.
    static let deliveryClaim: Int64 = 120_000
    /// Characters of a push token.
    static let pushTokenLength = 512
    /// Bytes of a client's own name (`clientId`).
    static let clientIDLength = 255
    /// Milliseconds after which the push token of a client that no longer polls expires: 30 days.
    package static let pushTokenLifetime: Int64 = 30 * 24 * 60 * 60 * 1000
    /// Entries that one step of removing an index removes.
    static let entriesPerIndexRemoval = 2000
    /// Zones that one step of removing an index examines.
    static let zonesPerIndexRemoval = 200
    /// Records that are examined in one snapshot for values that a schema change would drop (`LossCheck`).
    static let recordsPerLossRead = 1000
    /// Records written after a `LossCheck` that the schema change's transaction examines; after more, the check
    /// restarts.
    static let changesPerLossCheck = 2000

    // Sharing.

    /// Participants of a share besides its owner: `CKError.tooManyParticipants`, Apple's documentation.
    package static let shareParticipants = 100
    /// Accounts whose requests for access to a share are pending, and accounts that a share blocks.
    static let shareRequesters = 100
    /// Participants that one save of a share may list; also requesters, and blocked accounts.
    static let listedParticipants = 4 * shareParticipants
    /// Unicode scalars of an invited address.
    static let invitationAddressLength = 320
    /// Records in a chain of parents.
    static let parentDepth = 1000
    /// Records below a moved one that are examined for the length of their chains.
    static let recordsBelowMove = 20_000
    /// Descendants of saved records that one commit moves into a share or out of it; the background moves the
    /// remainder.
    static let sharedRecordsPerCommit = 1000
    /// Shares of a zone up to which a subtree of more than `sharedRecordsPerCommit` records can be moved under a share.
    static let sharesPerMove = 10_000
    /// Shares that one account takes part in.
    static let membershipsPerAccount = 10_000
    /// Addresses that one account looks up or invites in a minute: an invitation also reveals whether an account
    /// exists.
    static let participantLookupsPerMinute = 600
    /// Shares of a zone whose participants are notified of its deletion.
    static let sharesPerNotification = 1000
    /// Shares that one request resolves or accepts.
    static let shortGUIDsPerRequest = 200

    // Encrypted values. The sizes are those of their formats (Documentation/Encryption.md).

    /// Bytes of an encrypted value besides its content: 1, the key's ID, and the overhead of sealing.
    static let sealedValueOverhead = 1 + 8 + 72
    /// Bytes of a record's key, wrapped under a zone's key.
    static let wrappedRecordKeySize = 1 + 72 + 32
    /// Bytes of a zone's key, wrapped under a zone's key.
    static let wrappedGroupKeySize = 1 + 72 + 32
    /// Bytes of a zone's key in a sealed box.
    static let groupKeyBoxSize = 48 + 32
    /// Records whose keys one request wraps for a group.
    static let recordsToWrap = 1000
    /// Bytes of the fragment of a share's URL, wrapped under the share's key.
    static let wrappedLinkSize = 1 + 72 + 64
    /// Bytes of the key of an asset's file, wrapped under its record's key.
    static let wrappedAssetKeySize = sealedValueOverhead + 32
    /// Keys of one record's values.
    static let keysPerRecord = 64
    /// Versions of a zone's key.
    static let groupKeyVersions: Int64 = 10_000
    /// Entries of an account's device list.
    static let keyListLength: Int64 = 1000
    /// Bytes of an entry of an account's device list.
    static let keyListEntrySize = 4096
    /// Bytes of device lists in an answer, excluding the last list.
    static let keyListsSize = 16 << 20
    /// Bytes that a service keeps in escrow for an account's devices.
    static let keyEscrowSize = 64 << 10
    /// Boxes with an account's keys, one per version and device on its list.
    static let accountKeyBoxes = 10_000
    /// Messages between an account's devices.
    static let deviceMessages = 100
    /// Bytes of a message between an account's devices.
    static let deviceMessageSize = 512

    // Assets.

    /// Files for which one request asks upload addresses: CloudKit Web Services, Data Size Limits.
    package static let uploadTokensPerRequest = 200
    /// Bytes of an asset's file, unless configured otherwise: CloudKit Web Services, Data Size Limits.
    package static let assetSize: Int64 = 50 << 20
    /// Bytes of an asset's file at most, however configured.
    package static let largestAssetSize: Int64 = 5 << 30
    /// Bytes of a database's files in total, unless configured otherwise: Apple's quota for an app's public database.
    package static let assetBytesPerDatabase: Int64 = 10 << 30
    /// Assets that a record holds.
    package static let assetsPerRecord = 1000
    /// Milliseconds that an upload address is valid: CloudKit Web Services, Uploading Assets ("15 minutes").
    package static let uploadLifetime: Int64 = 15 * 60 * 1000
    /// Milliseconds that an upload's receipt is valid for a save: a day.
    static let receiptLifetime: Int64 = 24 * 60 * 60 * 1000
    /// Milliseconds that a download address is valid.
    static let downloadLifetime: Int64 = 60 * 60 * 1000
    /// Milliseconds that clocks may differ.
    static let clockSkew: Int64 = 60 * 1000
    /// Milliseconds that an unreferenced file is retained: a week, longer than the validity of any receipt or address,
    /// and than the age of the oldest backup to be restored.
    package static let assetRetention: Int64 = 7 * 24 * 60 * 60 * 1000
    /// Concurrent uploads of an account.
    static let uploadsPerAccount = 16
    /// Concurrent uploads of all accounts of a store.
    static let uploadsPerStore = 256
    /// Bytes of an account's concurrent uploads, unless the limit of one file is larger.
    static let uploadedBytesPerAccount: Int64 = 1 << 30
    /// Bytes that stay free on the assets' disk, so that records can be saved.
    static let freeDisk: Int64 = 256 << 20
    /// Bytes a second below which an upload is aborted.
    package static let slowestUpload: Int64 = 1024
    /// Milliseconds after which the rate of an upload is first checked.
    package static let slowUploadGrace: Int64 = 30 * 1000
    /// Files that one transaction condemns, and references that it removes.
    static let assetsPerCollectionStep = 200
    /// Collection steps that an upload runs to free bytes in a full database.
    static let collectionStepsForRoom = 20
    /// Files that an account may have uploaded to others' databases without saving them.
    static let unsavedUploads = 10_000

    /// Bytes of a service's decoded-request cache, and of a store's plan cache. The queries in use fit
    /// if they take half of it, some 1,500 of an app.
    static let queryCacheSize = 8 << 20
}
