import NephosWire

/// Every limit, with its unit and source. A limit without a source is this service's own.
package enum Limits {
    /// The maximum number of characters per record name: `CKRecord.ID`, Apple's documentation.
    package static let recordNameLength = 255
    /// The maximum number of characters per zone name: `CKRecordZone`, Apple's documentation.
    package static let zoneNameLength = 255
    /// The maximum number of characters per name of a record type or field: `CKRecord`, Apple's header.
    package static let identifierLength = 255
    /// The maximum number of bytes of data per record, without assets: `CKRecord`, Apple's documentation ("must not
    /// exceed 1 MB").
    package static let recordSize = 1 << 20
    /// The maximum number of operations per request: `CKError.limitExceeded`, Apple's documentation.
    package static let operationsPerRequest = 400
    /// The maximum number of containers with preflight notes, and of notes per container.
    static let preflightContainers = 1000
    static let preflightNotes = 100
    /// The maximum number of operations per request in strict mode: CloudKit Web Services, Data Size Limits.
    package static let strictOperationsPerRequest = 200
    /// The maximum number of bytes of data per request as stored, without assets: `CKError.limitExceeded`, Apple's
    /// documentation.
    package static let requestSize = 2 << 20
    /// The maximum number of bytes of the HTTP body per request that saves records, before and after inflation. This
    /// admits every request within the limits above: JSON takes up to six times the bytes of a string, and five times
    /// the bytes of a location.
    package static let requestBodySize = 8 * requestSize
    /// The number of bytes of a body beyond which few are decoded at a time.
    package static let largeBody = 1 << 20
    /// The maximum number of an account's large bodies that wait to be decoded. Their bytes are bounded besides.
    package static let waitingLargeBodies = 64
    /// The maximum number of bytes of the HTTP body of a request to a production server without an account. It admits a
    /// lookup of 400 records with the longest names.
    package static let anonymousBodySize = 256 * 1024
    /// The maximum number of containers that one overview of a service reads.
    static let overviewContainers = 50
    /// The maximum number of zones per container that an overview reads.
    static let overviewZones = 1000
    /// The maximum number of records per container that an overview reads.
    static let overviewRecords = 20_000
    /// The number of bytes of record fields after which it reads no more.
    static let overviewSize = 32 << 20
    /// The maximum number of records that refer to one record with `DELETE_SELF`: `CKRecord.Reference`, Apple's
    /// documentation ("This limit is 750 references, and any attempt to exceed it results in an error from the
    /// server"); CloudKit Web Services, Data Size Limits.
    ///
    /// The count includes the referring records of one creator, among the first `ownedRead` references.
    package static let deleteSelfSources = 750
    /// The maximum number of references examined per count of one creator's `DELETE_SELF` references to a record.
    static let ownedRead = 2000
    /// The maximum number of references examined per batch for those counts: each of 400 records may refer to
    /// another full target.
    static let sourcesPerBatch = operationsPerRequest * deleteSelfSources
    /// The maximum number of references examined per deletion in the public database to find one that blocks the
    /// deletion. Later references do not block it.
    static let holdersRead = 2000

    /// The maximum number of fields per record type that saves may create in development: every reader and writer
    /// traverses the whole schema.
    package static let fieldsPerType = 500
    /// The maximum number of record types per container that saves may create in development.
    package static let typesPerContainer = 500
    /// The maximum number of record types per account that the account's saves may create, so that no account exhausts
    /// `typesPerContainer`.
    package static let typesPerAccount = 100
    /// The maximum number of fields that one account's saves may add per record type that another account's saves
    /// created.
    package static let fieldsPerAccount = 100
    /// The maximum number of composite indexes per record type that a schema declares: every save updates all of them.
    static let indexesPerType = 24
    /// The maximum number of fields per composite index.
    static let fieldsPerIndex = 8
    /// The maximum number of fields per composite index that are compared for equality.
    static let equalitiesPerIndex = 3
    /// The maximum number of queued long reads per account or network address.
    static let waitingLongReads = 256
    /// The maximum number of bytes of record fields per response to a lookup, excluding the last record. Also the
    /// maximum for the records that the saves of one request write or find, because the response holds all of them.
    package static let lookupSize = 32 << 20
    /// The maximum number of filters of an administrator's list of records.
    static let filtersPerList = 10
    /// The maximum number of records per page of an administrator's list, and of those that are read for it.
    package static let (recordsPerList, browsedRecords) = (100, 20_000)
    /// The maximum number of bytes per `clientChangeToken` of a zone.
    package static let clientChangeTokenSize = 16 << 10

    /// The maximum number of changes per page of a change feed: CloudKit Web Services, Data Size Limits ("records in a
    /// response").
    package static let changesPerPage = 200
    /// The maximum number of changes per page of packed records. Only our own library requests packed records, after
    /// the first page of a fetch.
    package static let packedChangesPerPage = 1000
    /// The maximum number of bytes of records per packed page, excluding the last record: as many as a short read
    /// (`ReadMeter.shortRead`) reads.
    static let packedChangesSize = 512 << 10

    /// The maximum number of bytes of records per page of a change feed, excluding the last record: as many as one
    /// request may have.
    static let changesSize = requestSize
    /// The maximum number of records that one request for changes scans, including records that add nothing to the
    /// response.
    static let changesReadPerRequest = 2000
    /// The number of milliseconds for which a change feed retains tombstones, unless configured otherwise: half a year.
    package static let deletionRetention: Int64 = 180 * 24 * 60 * 60 * 1000
    /// The number of milliseconds between two purges of tombstones, and between two collections of unneeded asset
    /// files.
    static let purgeInterval: Int64 = 60 * 60 * 1000
    /// The maximum number of characters per idempotency key of a request.
    static let requestKeyLength = 64
    /// The number of milliseconds for which the outcome of a request is stored.
    static let requestKeyLifetime: Int64 = 60 * 60 * 1000
    /// The minimum number of milliseconds for which the outcome of a signed request is stored: a signature is valid for this
    /// time at most after its first use, and a minute is for requests that take long.
    static let signedOutcomeLifetime: Int64 = 2 * signatureLifetime + 60 * 1000
    /// The number of milliseconds between two purges of request outcomes.
    static let requestKeyPurgeInterval: Int64 = 10 * 60 * 1000
    /// The maximum number of request outcomes per account after a purge.
    static let requestKeysPerAccount = 100_000
    /// The maximum number of request outcomes per store after a purge. The purge removes the excess from the accounts
    /// with the most outcomes.
    static let requestKeys = 1_000_000
    /// The maximum number of bytes per stored outcome. The outcome of 400 records without their fields has 150,000.
    static let requestOutcomeSize = 1 << 20
    /// The maximum number of bytes of stored outcomes per account after a purge.
    static let requestOutcomesSize = 64 << 20
    /// The number of bytes of outcomes that an account may add before its next purge.
    static let requestOutcomesAhead = 16 << 20
    /// The minimum number of milliseconds between two purges of tombstones, for a retention shorter than
    /// `purgeInterval`.
    static let shortestPurgeInterval: Int64 = 1000
    /// The number of milliseconds after which the deletion of an account counts as interrupted, unless it has ended.
    static let interruptedDeletion: Int64 = 10 * 60 * 1000
    /// The number of milliseconds after which every server has closed the stores of a container whose deletion began: it looks
    /// for deletions, and checks credentials again, every `credentialRecheck`.
    static let containerDeletionNotice = 2 * credentialRecheck
    /// The number of rows or files in the first piece of the removal of a container: a record may have a megabyte.
    static let rowsPerRemoval = 50
    /// The number of milliseconds after which another server takes over the deletion of a container, unless the claim is
    /// renewed: more than clocks may differ.
    static let containerDeletionLease: Int64 = 3 * 60 * 1000
    /// The number of milliseconds after which a deletion of a container that failed is tried again.
    static let containerDeletionRetry: Int64 = 60 * 1000
    /// The number of milliseconds for which a clock runs without a step before entries of the installation are purged.
    static let steadyClock: Int64 = 10 * 60 * 1000
    /// The number of milliseconds above which a clock's difference from the elapsed time is a step.
    static let clockStep: Int64 = 60 * 1000
    /// The maximum number of bytes of a value that an administrator searches, and of scalars of a text that is found.
    static let (searchedText, foundText) = (100, 200)
    /// The maximum number of zones per private database, including the default zone: a response to `zones/list` has all of them.
    package static let zonesPerDatabase = 10_000
    /// The maximum number of zones per page of an administrator's list.
    static let zonesPerPage = 1000
    /// The maximum number of accounts per page of an administrator's list.
    static let accountsPerPage = 1000
    /// The maximum number of shares per zone that the report of an account's deletion counts.
    static let sharesCounted = 10_000

    /// The maximum number of concurrently open stores. Each store has about nine files and 1 MB of memory.
    package static let openStores = 256
    /// How many times as many stores are open in memory, at half a megabyte each.
    static let memoryStoresFactor = 8
    /// The number of milliseconds after which an unused store is closed.
    package static let storeIdleTime: Int64 = 5 * 60 * 1000
    /// The number of open stores above which unused stores are closed after `crowdedStoreIdleTime`.
    static let crowdedStores = 64
    /// The number of milliseconds after which an unused store is closed if more than `crowdedStores` are open.
    static let crowdedStoreIdleTime: Int64 = 10 * 1000
    /// The maximum number of drafts in memory. A draft is a container that accounts read before its first write
    /// (`Draft`).
    static let drafts = 16
    /// The number of threads that open stores and check which stores exist.
    static let openingThreads = 4
    /// The minimum number of milliseconds between two readiness checks, because each check writes.
    static let readinessInterval: Int64 = 1000
    /// The number of milliseconds for which a service is not ready after a request failed for lack of disk space.
    static let fullDiskInterval: Int64 = 10_000
    /// The number of milliseconds after which the write of a readiness check counts as hung.
    static let readinessPatience: Int64 = 5000
    /// The maximum number of stores to which one readiness check writes.
    static let storesPerReadinessCheck = 8
    /// The number of milliseconds between two checks for closed stores that have pending work.
    static let workLookInterval: Int64 = 60 * 1000
    /// The maximum number of stores with pending work that one check opens. The check also retries up to as many stores
    /// that failed to open.
    static let storesPerLook = 64
    /// The number of jobs per read when looking for one that is due.
    static let jobsPerRead = 64
    /// The number of milliseconds until the first retry of a failed job. The pause doubles with each failure, up to
    /// `longestJobPause`.
    static let firstJobPause: Int64 = 1000
    /// The maximum number of milliseconds between two attempts of a failed job.
    static let longestJobPause: Int64 = 5 * 60 * 1000
    /// The time for which a background step may block other writers. After a longer step, the next step is smaller.
    static let backgroundStepTime = Duration.milliseconds(50)
    /// The number of records that the first background step deletes in one transaction.
    static let recordsPerBackgroundStep = 200
    /// The number of records per read of a cascade.
    static let recordsPerCascadeRead = 1000
    /// The maximum number of records of a cascade that a write finds itself. A larger cascade is found before the write
    /// begins.
    static let recordsPlannedInWrite = 1000
    /// The maximum number of records that may be written in a zone while a cascade is found there. After more writes,
    /// the search restarts.
    static let changesBesideCascade = 1000
    /// The maximum number of records of a found cascade that are held in memory. The write reads the remainder again.
    static let recordsKeptOfCascade = 200_000
    /// The number of references per read.
    static let referencesPerRead = 1000

    /// The maximum number of records that an index build reads in one transaction, so that the build does not block
    /// other writers.
    static let recordsPerIndexStep = 1000
    /// The number of records per read of an index build.
    static let recordsPerIndexRead = 100

    /// The maximum number of bytes of memory for the entries that an index build sorts at a time.
    static let indexBuildMemory = 32 * 1024 * 1024
    /// The number of sorted entries that an index build writes in one transaction.
    static let entriesPerIndexWrite = 2000

    /// The maximum number of bytes per subscription ID.
    package static let subscriptionIDLength = 255
    /// The maximum number of bytes per subscription in JSON.
    package static let subscriptionSize = 64 * 1024
    /// The maximum number of subscriptions per account and database.
    package static let subscriptionsPerDatabase = 1000
    /// The maximum number of bytes of an account's subscriptions per database in JSON: a save compares them all.
    package static let subscriptionsSize = 4 << 20
    /// The maximum number of push tokens per account: each notification has an outbox row for each token. A new token
    /// evicts the least recently seen one.
    package static let pushTokensPerAccount = 100
    /// The maximum number of bytes of records per change event, excluding the last record.
    static let changeEventSize = 256 * 1024
    /// The maximum number of records per change event.
    static let changesPerEvent = 100
    /// The maximum number of equal change events that one fan-out coalesces.
    static let changeEventsPerFanOut = 16
    /// The maximum number of subscriptions examined per snapshot of a fan-out.
    static let subscriptionsPerFanOut = 100
    /// The maximum number of notifications made per snapshot of a fan-out. One event makes at most
    /// `waitingNotifications` per account.
    static let notificationsPerFanOut = 400
    /// The maximum number of outbox rows of the notifications made per snapshot of a fan-out, excluding those of the last
    /// one: about half a second.
    static let outboxRowsPerPage = 2000
    /// The maximum number of outbox rows of an account's query notifications of one account's changes in a burst: the queues of
    /// all its destinations. Further ones are dropped, beyond `outboxRowsPerSecond`.
    static let outboxRowsPerAccount = waitingNotifications * pushTokensPerAccount
    /// The number of outbox rows per second by which a burst falls.
    static let outboxRowsPerSecond = 500.0
    /// The maximum number of change events that wait for their fan-out. The oldest events beyond it are evicted.
    static let waitingChangeEvents = 20_000
    /// The maximum number of change events that one transaction evicts.
    static let changeEventsPerRemoval = 500
    /// The maximum number of failed change events that back off. Beyond them, the oldest event is retried at once.
    static let failedChangeEvents = 64
    /// The maximum number of an owner's jobs that are read to find one that notifies. That job precedes the owner's
    /// other jobs.
    static let jobsReadForNotification = 1024
    /// The maximum number of outbox rows that one background transaction writes, excluding the rows of its last
    /// notification, so that other writers are not blocked.
    static let outboxRowsPerFanOut = 200
    /// The maximum number of fields per notification: `CKSubscription.NotificationInfo.desiredKeys`, Apple's
    /// documentation.
    package static let notificationFields = 3
    /// The number of characters to which the text of a field is truncated in a notification:
    /// `CKSubscription.NotificationInfo.desiredKeys`, Apple's documentation.
    static let notificationTextLength = 100
    /// The maximum number of bytes of such a text: a character may have any number of combining marks.
    static let notificationTextSize = 400
    /// The maximum number of arguments per localized text. A format string names each of them.
    package static let notificationArguments = 32
    /// The maximum number of bytes per notification: Apple Push Notification service, "Create the JSON payload".
    package static let notificationSize = 4096
    /// The maximum number of bytes per collapse ID, by which a notification replaces an earlier one: Apple Push
    /// Notification service, `apns-collapse-id`.
    static let collapseIDLength = 64
    /// The maximum number of notifications that wait for one destination. The oldest notifications beyond it are
    /// evicted.
    package static let waitingNotifications = 1000
    /// The maximum number of bytes that are compared with an account's conditions per change event: about 50 ms. The
    /// account's other subscriptions are not notified of the event.
    static let bytesComparedPerEvent = 32 << 20
    /// The number of notifications per read when looking for one by its ID.
    static let notificationsPerRead = 1000
    /// The maximum number of concurrent deliveries per store.
    static let concurrentDeliveries = 64
    /// The number of milliseconds that a server's claim on a notification lasts, if several servers send: far longer
    /// than a delivery.
    static let deliveryClaim: Int64 = 120_000
    /// The maximum number of characters per push token.
    static let pushTokenLength = 512
    /// The maximum number of bytes per name of a client (`clientId`).
    static let clientIDLength = 255
    /// The number of milliseconds after which the push token of a client that no longer polls expires: 30 days.
    package static let pushTokenLifetime: Int64 = 30 * 24 * 60 * 60 * 1000
    /// The maximum number of entries that one step of an index removal removes.
    static let entriesPerIndexRemoval = 2000
    /// The maximum number of zones that one step of an index removal examines.
    static let zonesPerIndexRemoval = 200
    /// The number of records examined per snapshot for values that a schema change would drop (`LossCheck`).
    static let recordsPerLossRead = 1000
    /// The maximum number of records written after a `LossCheck` that the schema change's transaction examines. After
    /// more writes, the check restarts.
    static let changesPerLossCheck = 2000

    // Sharing.

    /// The maximum number of participants per share besides the owner: `CKError.tooManyParticipants`, Apple's
    /// documentation.
    package static let shareParticipants = 100
    /// The maximum number of accounts per share whose access requests are pending, and of accounts that a share blocks.
    static let shareRequesters = 100
    /// The maximum number of participants, of requesters, and of blocked accounts that one save of a share may list.
    static let listedParticipants = 4 * shareParticipants
    /// The maximum number of them that all shares of a request list: each is looked up in the write.
    static let listedPerRequest = ShareToModify.listedPerRequest
    /// The maximum number of Unicode scalars per invited address.
    static let invitationAddressLength = 320
    /// The maximum number of records per chain of parents.
    static let parentDepth = 1000
    /// The maximum number of records below the moved records of a request that are examined for the length of their parent
    /// chains.
    static let recordsBelowMove = 20_000
    /// The maximum number of descendants of saved records that one commit moves into a share or out of it. A background
    /// job moves the remainder.
    static let sharedRecordsPerCommit = 1000
    /// The maximum number of shares per zone in which a subtree of more than `sharedRecordsPerCommit` records can be
    /// moved under a share.
    static let sharesPerMove = 10_000
    /// The maximum number of shares per account in which the account participates.
    static let membershipsPerAccount = 10_000
    /// The maximum number of addresses per account and minute that the account looks up or invites: an invitation also
    /// reveals whether an account exists.
    static let participantLookupsPerMinute = 600
    /// The maximum number of signed requests per key, minute and server that are claimed: each is stored for
    /// `signedOutcomeLifetime`.
    static let claimsPerMinute = 600
    /// The maximum number of shares per deleted zone whose participants are notified.
    static let sharesPerNotification = 1000
    /// The maximum number of shares per request that resolves or accepts shares.
    static let shortGUIDsPerRequest = 200

    // Encrypted values. The sizes are those of their formats (Documentation/Encryption.md).

    /// The number of bytes that an encrypted value has besides its content: 1, the key's ID, and the overhead of
    /// sealing.
    static let sealedValueOverhead = 1 + 8 + 72
    /// The number of bytes of a record's key that is wrapped under a zone's key.
    static let wrappedRecordKeySize = 1 + 72 + 32
    /// The number of bytes of a zone's key that is wrapped under a zone's key.
    static let wrappedGroupKeySize = 1 + 72 + 32
    /// The number of bytes of a zone's key in a sealed box.
    static let groupKeyBoxSize = 48 + 32
    /// The maximum number of records per request whose keys the request wraps for a group.
    static let recordsToWrap = 1000
    /// The number of bytes of the fragment of a share's URL that is wrapped under the share's key.
    static let wrappedLinkSize = 1 + 72 + 64
    /// The number of bytes of the key of an asset's file that is wrapped under its record's key.
    static let wrappedAssetKeySize = sealedValueOverhead + 32
    /// The maximum number of bytes of a participant's identifier in a signed list, and of the list.
    static let participantIDLength = 255
    static let participantListSize = 64 << 10
    /// The number of former participants of a share from which on the service chooses all identifiers of participants.
    static let formerParticipants = 500
    /// The maximum number of keys per record.
    static let keysPerRecord = 64
    /// The maximum number of versions per zone key.
    static let groupKeyVersions: Int64 = 10_000
    /// The maximum number of entries per device list of an account.
    static let keyListLength: Int64 = 1000
    /// The maximum number of bytes per entry of an account's device list.
    static let keyListEntrySize = 4096
    /// The maximum number of bytes of device lists per response, excluding the last list.
    static let keyListsSize = 16 << 20
    /// The maximum number of bytes per account that a service holds in escrow for the account's devices.
    static let keyEscrowSize = 64 << 10
    /// The maximum number of boxes with keys per account: one box per version and device on the account's list.
    static let accountKeyBoxes = 10_000
    /// The maximum number of stored messages per account between the account's devices.
    static let deviceMessages = 100
    /// The maximum number of bytes per message between an account's devices.
    static let deviceMessageSize = 512

    // Assets.

    /// The maximum number of files per request for upload addresses: CloudKit Web Services, Data Size Limits.
    package static let uploadTokensPerRequest = 200
    /// The maximum number of bytes per asset file, unless configured otherwise: CloudKit Web Services, Data Size
    /// Limits.
    package static let assetSize: Int64 = 50 << 20
    /// The maximum number of bytes per asset file that a configuration may allow.
    package static let largestAssetSize: Int64 = 5 << 30
    /// The maximum number of bytes of all files per database, unless configured otherwise: Apple's quota for an app's
    /// public database.
    package static let assetBytesPerDatabase: Int64 = 10 << 30
    /// The maximum number of assets per record.
    package static let assetsPerRecord = 1000
    /// The number of milliseconds for which an upload address is valid: CloudKit Web Services, Uploading Assets ("15
    /// minutes").
    package static let uploadLifetime: Int64 = 15 * 60 * 1000
    /// The number of milliseconds for which a save may use the receipt of an upload: a day.
    static let receiptLifetime: Int64 = 24 * 60 * 60 * 1000
    /// The number of milliseconds for which a download address is valid.
    static let downloadLifetime: Int64 = 60 * 60 * 1000
    /// The maximum number of milliseconds by which the clocks of servers differ.
    static let clockSkew: Int64 = 60 * 1000
    /// The number of milliseconds for which an unreferenced file is retained: a week, longer than the validity of any
    /// receipt or address, and than the age of the oldest backup to be restored.
    package static let assetRetention: Int64 = 7 * 24 * 60 * 60 * 1000
    /// The maximum number of concurrent uploads per account.
    static let uploadsPerAccount = 16
    /// The maximum number of concurrent uploads per store, over all accounts.
    static let uploadsPerStore = 256
    /// The maximum number of bytes of concurrent uploads per account, unless the limit of one file is larger.
    static let uploadedBytesPerAccount: Int64 = 1 << 30
    /// The number of bytes that stay free on the assets' disk, so that records can be saved.
    static let freeDisk: Int64 = 256 << 20
    /// The number of bytes per second below which an upload is aborted.
    package static let slowestUpload: Int64 = 1024
    /// The number of milliseconds after which the rate of an upload is first checked.
    package static let slowUploadGrace: Int64 = 30 * 1000
    /// The maximum number of files that one transaction condemns, and of references that it removes.
    static let assetsPerCollectionStep = 200
    /// The maximum number of collection steps per upload that free bytes in a full database.
    static let collectionStepsForRoom = 20
    /// The maximum number of files per account that are uploaded to others' databases and not saved.
    static let unsavedUploads = 10_000

    /// The maximum number of bytes per decoded-request cache of a service, and per plan cache of a store. The queries
    /// in use fit if they take half of a cache, some 1,500 queries of an app.
    static let queryCacheSize = 8 << 20

    // MARK: Mail

    /// The time in milliseconds after which the attempt to send a mail fails.
    package static let mailTimeout: Int64 = 60 * 1000
    /// The time in milliseconds after which a mail is given up.
    static let mailLifetime: Int64 = 24 * 60 * 60 * 1000
    /// The time in milliseconds for which a server that sends a mail has it alone.
    static let mailLease: Int64 = 2 * mailTimeout
    /// The maximum number of mails that a server sends at the same time.
    static let mailsAtOnce = 8
    /// The maximum number of mails in the queue that people without a session asked for.
    static let queuedMails = 1000
    /// The maximum numbers of mails per hour to a recipient, and at the request of a network. 50 people behind one address
    /// may sign up and reset a password.
    static let (mailsOfRecipient, mailsOfNetwork) = (5, 100)
    /// The maximum number of mails in an hour to people who ask for an account, of all networks.
    static let mailsOfSignUps = 1000
    /// The time in milliseconds between two looks for due mails.
    static let mailInterval: Int64 = 1000
    /// The times in milliseconds for which a link is valid, and that of an administrator's invitation.
    static let (linkLifetime, invitationLifetime): (Int64, Int64) = (60 * 60 * 1000, 7 * 24 * 60 * 60 * 1000)

    // MARK: Identity providers

    /// The time in milliseconds after which a request to an identity provider fails.
    package static let providerTimeout: Int64 = 10 * 1000
    /// The maximum size in bytes of an identity provider's answer.
    package static let providerAnswerSize = 1 << 20
    /// The time in milliseconds for which a provider's discovery document and keys are cached.
    static let providerCacheLifetime: Int64 = 60 * 60 * 1000
    /// The time in milliseconds after a failed fetch of them in which no other is made.
    static let providerRetryInterval: Int64 = 5 * 1000
    /// The minimum time in milliseconds between two fetches of keys, if a token names one that is not known.
    static let providerKeysInterval: Int64 = 60 * 1000
    /// The time in milliseconds for which a sign-in waits for the provider's answer.
    static let providerSignInLifetime: Int64 = 10 * 60 * 1000
    /// The maximum number of providers' persons who are one account.
    static let identitiesOfAccount = 20

    // MARK: The installation

    /// The time in milliseconds after which a cached credential is read again: a revocation holds after that time.
    static let credentialRecheck: Int64 = 5 * 1000
    /// The maximum number of cached sessions, and of cached API tokens.
    static let cachedCredentials = 20_000
    /// The maximum number of owners of shared zones that a server knows, one for each of their participants that writes.
    static let knownSharingOwners = 20_000
    /// The maximum number of callers of a kind whose rates a server knows.
    static let limitedCallers = 200_000
    /// The difference in milliseconds of the machine's clock and the database's from which on a server does not start.
    static let clockDifference: Int64 = 60 * 1000
    /// The maximum numbers of sign-ins under way and of waiting ones: of all networks, then of one. Each hashes a password.
    /// A network has no more under way, on five servers together, than it may fail without a delay.
    static let (signInsUnderWay, waitingSignIns) = (1024, 1024)
    static let (signInsOfNetwork, waitingSignInsOfNetwork) = (6, 64)
    /// The maximum number of devices that an account is known to have signed in from.
    static let knownDevices = 20
    /// The maximum number of an account's sessions in a container and environment, in the administration, or at the pages:
    /// one more ends another of them.
    static let sessionsOfPlace = 200
    /// The maximum number of sessions that a session remembers as those that led to it.
    static let sessionAncestors = 16
    /// The maximum number of stores whose content an account's page shows at once, and of shares of each of them.
    static let (storesPerPage, sharesShown) = (50, 200)
    /// The maximum number of pages of stores that are searched for the first place of an account.
    static let pagesOfStores = 4
    /// The maximum numbers of records and of bytes that an account's export reads at once. One record may be larger.
    static let (exportedRecords, exportedBytes) = (200, 256 * 1024)
    /// The time in milliseconds after which an account's export is cut off: the largest database is read long before.
    static let exportDuration: Int64 = 6 * 60 * 60 * 1000
    /// The number of files per store that an account's export is known to have, so that it has each once.
    static let exportedFileNames = 100_000
    /// The longest time in milliseconds after which an API token expires.
    static let longestAPIToken: Int64 = 100 * 366 * 24 * 60 * 60 * 1000
    /// The time in milliseconds for which a session lasts after its last use: CloudKit Web Services, web auth tokens.
    static let sessionLifetime: Int64 = 30 * 60 * 1000
    /// The same for a session of a person who chose to stay signed in.
    static let keptSessionLifetime: Int64 = 14 * 24 * 60 * 60 * 1000
    /// The time in milliseconds for which a `redirectURL` is valid. CloudKit JS asks for a new one every 14 minutes.
    static let signInRequestLifetime: Int64 = 20 * 60 * 1000
    /// The time in milliseconds in which a login of a program is approved.
    static let loginLifetime: Int64 = 15 * 60 * 1000
    /// The maximum number of an account's passkeys.
    static let passkeysOfAccount = 20
    /// The maximum number of bytes of a passkey's name.
    package static let passkeyName = 64
    /// The maximum number of bytes of a credential ID: Web Authentication §5.1.3.
    static let passkeyCredentialID = 1023
    /// The time in milliseconds for which the challenge of a page that asks for a passkey is valid.
    package static let passkeyChallengeLifetime: Int64 = 5 * 60 * 1000
    /// The time in milliseconds for which a signature of a server-to-server key is valid, before and after its date.
    static let signatureLifetime: Int64 = 10 * 60 * 1000
    /// The time in milliseconds after which a session ends even if it is used.
    static let longestSession: Int64 = 365 * 24 * 60 * 60 * 1000
    /// The time in milliseconds after which a program token expires unless its maker chooses another, and the longest.
    static let programTokenLifetime: Int64 = 90 * 24 * 60 * 60 * 1000
    static let longestProgramToken: Int64 = 365 * 24 * 60 * 60 * 1000
    static let programTokensOfAccount = 100
    /// The maximum number of containers and environments per program token.
    static let placesPerProgramToken = 100
    /// The time in milliseconds for which a device counts as known after its last sign-in.
    static let knownDeviceLifetime: Int64 = 365 * 24 * 60 * 60 * 1000
    /// The time in milliseconds for which the audit keeps events.
    static let auditRetention: Int64 = 366 * 24 * 60 * 60 * 1000
    /// The time in milliseconds after which an event of the audit is chained.
    static let auditInterval: Int64 = 60 * 1000
    static let eventsPerAuditBatch = 500
    static let auditBatchesPerPage = 20
    /// The maximum number of the installation's entries per statement, and per transaction that purges them.
    static let entriesPerRead = 1000
    static let entriesPerPurge = 1000
    /// The maximum number of entries of a deleted container per transaction.
    static let entriesPerDeletionStep = 100
}
