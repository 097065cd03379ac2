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
    /// Bytes of a request's data as it is stored, without assets: `CKError.limitExceeded`, Apple's documentation.
    package static let requestSize = 2 << 20
    /// Bytes of the body of a request that saves records, over HTTP and after it is inflated: what the limits above allow can
    /// be saved, as JSON takes up to six times the bytes of a string, five times those of a location.
    package static let requestBodySize = 8 * requestSize
    /// What one look at all that a service holds reads at most: containers; and of each, zones and records. Ours.
    static let overviewContainers = 50
    static let overviewZones = 1000
    static let overviewRecords = 20_000
    /// Records that may point at one record with `DELETE_SELF`: `CKRecord.Reference`, Apple's documentation ("This limit
    /// is 750 references, and any attempt to exceed it results in an error from the server"); CloudKit Web Services, Data
    /// Size Limits.
    ///
    /// Of one creator's, as far as the first `ownedRead` of all tell.
    package static let deleteSelfSources = 750
    static let ownedRead = 2000
    /// References to a record of the public database that are looked at for one by whom deletes it; others hold nothing.
    static let holdersRead = 2000

    /// Fields of a record type, and record types, that saves may make in development: every reader and writer has the
    /// whole schema to go through.
    package static let fieldsPerType = 500
    package static let typesPerContainer = 500
    /// Those of the types that one account's saves may make, so that no account can use up the others'.
    package static let typesPerAccount = 100
    /// Those of the fields that one account's saves may add to a type that they did not make.
    package static let fieldsPerAccount = 100
    /// Indexes of several fields that a schema declares for a record type, fields of one, and those of them that are compared
    /// for equality: every save keeps all of them up.
    static let indexesPerType = 24
    static let fieldsPerIndex = 8
    static let equalitiesPerIndex = 3
    /// Long reads of one account that are queued.
    static let waitingLongReads = 256
    /// Bytes of the fields of the records that a lookup answers with, but for the last one's; and of those that a request's saves
    /// make or meet, as all of them are in its answer.
    package static let lookupSize = 32 << 20
    /// Bytes of a zone's `clientChangeToken`.
    package static let clientChangeTokenSize = 16 << 10

    /// Changes in a page of a feed: CloudKit Web Services, Data Size Limits ("records in a response").
    package static let changesPerPage = 200
    /// The same of packed records, which only our own library asks for, after the first page of a fetch.
    package static let packedChangesPerPage = 1000
    /// Bytes of such a page's records, but for the last one: a short read (`ReadMeter.shortRead`) has as many.
    static let packedChangesSize = 300 << 10

    /// Bytes of records in a page of a feed, but for the last record: as many as a request may have.
    static let changesSize = requestSize
    /// Records that one request for changes reads, those included that say nothing new.
    static let changesReadPerRequest = 2000
    /// Milliseconds that a feed remembers deletions, unless it is told otherwise: half a year.
    package static let deletionRetention: Int64 = 180 * 24 * 60 * 60 * 1000
    /// Milliseconds after which old deletions are looked for again.
    static let purgeInterval: Int64 = 60 * 60 * 1000
    /// Characters of a request's idempotency key, milliseconds that its outcome is kept, how often old ones are looked
    /// for, how many of an account's are kept then, and of a store's: where those are more, of the accounts that have most.
    static let requestKeyLength = 64
    static let requestKeyLifetime: Int64 = 60 * 60 * 1000
    static let requestKeyPurgeInterval: Int64 = 10 * 60 * 1000
    static let requestKeysPerAccount = 100_000
    static let requestKeys = 1_000_000
    /// Bytes of a kept outcome. That of 400 records without their fields has 150,000.
    static let requestOutcomeSize = 1 << 20
    /// Bytes of an account's kept outcomes, and those that it may add before they are looked at.
    static let requestOutcomesSize = 64 << 20
    static let requestOutcomesAhead = 16 << 20
    /// The same where they are remembered for less than that.
    static let shortestPurgeInterval: Int64 = 1000
    /// Zones in a page of an administrator's list.
    static let zonesPerPage = 1000
    /// Accounts in such a page.
    static let accountsPerPage = 1000
    /// Shares of a zone that are counted for what a deletion of an account says.
    static let sharesCounted = 10_000

    /// Stores that are open at a time: each has about nine files and 1 MB of memory.
    package static let openStores = 256
    /// Milliseconds after which an unused store is closed; where more stores are open than these, sooner.
    package static let storeIdleTime: Int64 = 5 * 60 * 1000
    static let crowdedStores = 64
    static let crowdedStoreIdleTime: Int64 = 10 * 1000
    /// Containers that accounts read before their first write, of which is known what was answered.
    static let drafts = 16
    /// Threads that stores are opened and looked for on.
    static let openingThreads = 4
    /// Milliseconds between two writes that show whether writes go through, and after which one hangs; stores that are
    /// written then.
    static let readinessInterval: Int64 = 1000
    static let readinessPatience: Int64 = 5000
    static let storesPerReadinessCheck = 8
    /// Milliseconds after which stores are looked for again that have something to do and are not open, and how many are
    /// opened then.
    static let workLookInterval: Int64 = 60 * 1000
    static let storesPerLook = 64
    /// Jobs that are read at a time to find one that may be done.
    static let jobsPerRead = 64
    /// Milliseconds after which a job that failed is tried again; twice as many each time, up to the longest.
    static let firstJobPause: Int64 = 1000
    static let longestJobPause: Int64 = 5 * 60 * 1000
    /// How long a background step may hold up other writers; the next is smaller where one took longer.
    static let backgroundStepTime = Duration.milliseconds(50)
    /// Records that the first background step deletes in one transaction.
    static let recordsPerBackgroundStep = 200
    /// Records that a cascade reads at a time, and of how many a write looks itself for what they take along: what goes with
    /// more is found before.
    static let recordsPerCascadeRead = 1000
    static let recordsPlannedInWrite = 1000
    /// Records that may be written in a zone while it is found, without that it is to be found anew.
    static let changesBesideCascade = 1000
    /// Records that are kept of what is found then; more are read again.
    static let recordsKeptOfCascade = 200_000
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
    /// Subscriptions of an account in a database.
    package static let subscriptionsPerDatabase = 1000
    /// Push tokens of an account: what each notification is written for. The one that was longest not heard of makes room.
    package static let pushTokensPerAccount = 100
    /// Bytes of records in one event that subscribers are told of, but for the last record, and how many they are.
    static let changeEventSize = 256 * 1024
    static let changesPerEvent = 100
    /// Events that say the same and are told at once.
    static let changeEventsPerFanOut = 16
    /// Subscriptions that are looked at in one snapshot.
    static let subscriptionsPerFanOut = 100
    /// Notifications that are made in one snapshot. Of one event an account gets as many as wait for a destination.
    static let notificationsPerFanOut = 400
    /// Events that wait to be fanned out; the oldest make room.
    static let waitingChangeEvents: Int64 = 20_000
    /// Events that are removed to make room in one transaction.
    static let changeEventsPerRemoval = 500
    /// Events that failed and are tried again later; beyond them the oldest is tried at once.
    static let failedChangeEvents = 64
    /// Jobs of an owner that are read to find one that notifies, which goes before its others.
    static let jobsReadForNotification = 1024
    /// Rows of the outbox that the background writes in one transaction, but for the last notification's, so that other
    /// writers get their turn.
    static let outboxRowsPerFanOut = 200
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
    /// Milliseconds for which one of several servers has a notification that it sends: far longer than a delivery lasts.
    static let deliveryClaim: Int64 = 120_000
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

    // Sharing.

    /// Participants of a share besides its owner (`CKError.tooManyParticipants`, Apple's documentation).
    package static let shareParticipants = 100
    /// Accounts that wait for an answer to their request for access to a share, and those that are blocked.
    static let shareRequesters = 100
    /// Participants that one save of a share may list, and so accounts that asked for access, or are blocked.
    static let listedParticipants = 4 * shareParticipants
    /// Unicode scalars of an address that is invited.
    static let invitationAddressLength = 320
    /// Records in a chain of parents.
    static let parentDepth = 1000
    /// Records below one that is moved which are looked at for the length of their chains.
    static let recordsBelowMove = 20_000
    /// Records that one commit takes into a share or out of it with those that they are below; what is beyond goes in the
    /// background.
    static let sharedRecordsPerCommit = 1000
    /// Shares of a zone in which a subtree of more records can be moved under another.
    static let sharesPerMove = 10_000
    /// Shares that one account takes part in.
    static let membershipsPerAccount = 10_000
    /// Addresses that one account looks up, or invites, in a minute: an invitation tells of an account as well.
    static let participantLookupsPerMinute = 600
    /// Shares of a zone whose participants are notified of its deletion.
    static let sharesPerNotification = 1000
    /// Shares that are resolved or accepted in one request.
    static let shortGUIDsPerRequest = 200

    // Encrypted values. The sizes are those of their forms (Documentation/Encryption.md).

    /// Bytes of an encrypted value besides its content: 1, the key's ID, and what sealing adds.
    static let sealedValueOverhead = 1 + 8 + 72
    /// Bytes of a record's key, and of a zone's, wrapped under a zone's key; of the latter in a sealed box.
    static let wrappedRecordKeySize = 1 + 72 + 32
    static let wrappedGroupKeySize = 1 + 72 + 32
    static let groupKeyBoxSize = 48 + 32
    /// Records whose keys are wrapped for a group in one request.
    static let recordsToWrap = 1000
    /// Bytes of what a share's URL has in its fragment, wrapped under the share's key.
    static let wrappedLinkSize = 1 + 72 + 64
    /// Bytes of the key of an asset's file, wrapped with its record's.
    static let wrappedAssetKeySize = sealedValueOverhead + 32
    /// Keys that the values of one record have.
    static let keysPerRecord = 64
    /// Versions of a zone's key.
    static let groupKeyVersions: Int64 = 10_000
    /// Entries of an account's list of devices, bytes of one, and of what a service keeps for the devices.
    static let keyListLength: Int64 = 1000
    static let keyListEntrySize = 4096
    /// Bytes of the lists that an answer has, but for the last one's.
    static let keyListsSize = 16 << 20
    static let keyEscrowSize = 64 << 10
    /// Boxes with an account's keys, one for each version and device on its list.
    static let accountKeyBoxes = 10_000
    /// Messages between an account's devices, and bytes of one.
    static let deviceMessages = 100
    static let deviceMessageSize = 512

    // Assets.

    /// Files that one request asks to upload: CloudKit Web Services, Data Size Limits.
    package static let uploadTokensPerRequest = 200
    /// Bytes of an asset's file, unless configured otherwise: CloudKit Web Services, Data Size Limits.
    package static let assetSize: Int64 = 50 << 20
    /// The most that it can be configured to.
    package static let largestAssetSize: Int64 = 5 << 30
    /// Bytes of all files of a database, unless configured otherwise: as much as Apple gives an app's public database.
    package static let assetBytesPerDatabase: Int64 = 10 << 30
    /// Assets that a record holds.
    package static let assetsPerRecord = 1000
    /// Milliseconds that a file can be uploaded to an address: CloudKit Web Services, Uploading Assets ("15 minutes").
    package static let uploadLifetime: Int64 = 15 * 60 * 1000
    /// Milliseconds that an uploaded file can be saved with its receipt: a day.
    static let receiptLifetime: Int64 = 24 * 60 * 60 * 1000
    /// Milliseconds that a file can be downloaded from an address, and how far clocks may differ.
    static let downloadLifetime: Int64 = 60 * 60 * 1000
    static let clockSkew: Int64 = 60 * 1000
    /// Milliseconds that a file stays which no record refers to: a week, longer than any receipt or address is good, and
    /// than the oldest backup that is to be restored.
    package static let assetRetention: Int64 = 7 * 24 * 60 * 60 * 1000
    /// Files that an account, and all accounts of a store together, upload at a time.
    static let uploadsPerAccount = 16
    static let uploadsPerStore = 256
    /// Bytes of the files that an account uploads at a time, where one file alone may not have more.
    static let uploadedBytesPerAccount: Int64 = 1 << 30
    /// Bytes that stay free on the disk of the assets, so that records can be saved.
    static let freeDisk: Int64 = 256 << 20
    /// Bytes a second below which an upload is ended, and after how many milliseconds that is looked at first.
    package static let slowestUpload: Int64 = 1024
    package static let slowUploadGrace: Int64 = 30 * 1000
    /// Files that one transaction condemns, and references that it removes.
    static let assetsPerCollectionStep = 200
    /// How many such steps an upload takes for which a database has no room.
    static let collectionStepsForRoom = 20
    /// Files that an account uploads to databases that are not its own before it saves them.
    static let unsavedUploads = 10_000

    /// Bytes that a service's decoded queries take at most, and the plans of a store: some 3,000 queries of an app.
    static let queryCacheSize = 8 << 20
}
