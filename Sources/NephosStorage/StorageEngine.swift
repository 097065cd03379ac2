/// One container's store in one environment: typed rows, read and written in transactions.
///
/// A change sequence is unique in the store, and above those of every write that was answered before its own began. Writes
/// that run side by side may commit in any order, so a record's sequence may fall, and a reader may see a larger sequence
/// before a smaller one; up to `completeUpTo` it has seen all. Sequences are compared with that, with where a reader came
/// to and with one that was taken alone (`runAlone`), never those of two rows with each other; change tags, which are made of them, are
/// compared for equality only. The body of a write may run several times before it is committed once.
///
/// An engine is accepted when `NephosStorageTesting` is green on it. It knows no rule of CloudKit's.
package protocol StorageEngine: AnyObject, Sendable {
    /// Runs `body` over a snapshot of what is committed. The reader is valid only inside `body`.
    ///
    /// `body` runs on a thread of the engine's, never on the cooperative pool, so it may block.
    /// - Throws: what `body` throws, or a `StorageError`.
    func read<T: Sendable>(_ body: @escaping @Sendable (any StorageReader) throws -> T) async throws -> T

    /// The same for what a client asks for, and is expected to take so long. An engine may have long reads wait for each other,
    /// so that short ones need not.
    /// - Throws: `LongRead` also, where the read was not expected to be long, and did more work than a short one may.
    func read<T: Sendable>(
        expecting length: ReadLength, _ body: @escaping @Sendable (any StorageReader) throws -> T
    ) async throws -> T

    /// Runs `body` in a transaction and returns once the commit is durable. The transaction is valid only inside `body`.
    ///
    /// Writes that wait together are grouped: one commit makes them all durable. If `body` throws, its own changes alone
    /// are undone; for that, and where another write was in the way, it may run again. An operation that throws fails the write, even if `body` goes on.
    /// - Throws: what `body` throws, or a `StorageError`; then nothing of it is kept.
    func write<T: Sendable>(_ body: @escaping @Sendable (any StorageTransaction) throws -> T) async throws -> T

    /// Whether other processes may write the store.
    var isShared: Bool { get }
    /// How far the database's clock is ahead of this machine's, in milliseconds, where it is a second or more; otherwise 0.
    /// Processes that write one store claim work for a time, and have to agree when it is over.
    var clockOffset: Int64 { get }
    /// Wakes the other processes that have the store open, for what was committed before the call. Best effort.
    func signalOthers(_ signals: StoreSignals)
    /// Has the signals of other processes given to `handler`, and all of them now and then, as some may have been lost.
    /// `handler` must not block.
    func onSignals(_ handler: @escaping @Sendable (StoreSignals) -> Void)

    /// Finishes the work that was handed in, then closes. Later calls throw `StorageError` `.closed`.
    func close() async
}

package enum ReadLength: Sendable {
    /// It may turn out to be long: then it ends.
    case short
    case long
    /// Of one zone and one record, which the body names by `expectZone` before it reads anything. The body may run on the
    /// caller's thread, and several times; where it reads more it is a short read.
    case lookup
}

extension StorageEngine {
    package func read<T: Sendable>(
        expecting length: ReadLength, _ body: @escaping @Sendable (any StorageReader) throws -> T
    ) async throws -> T {
        try await read(body)
    }
}

/// Typed reads over one snapshot. Texts are compared by their UTF-8 bytes; a limit of zero or less gives nothing.
package protocol StorageReader: ShareReader {
    /// The store's secret; nil before one was set.
    func secret() throws -> [UInt8]?
    /// The change sequences that the store gave after the backups were taken that it was restored from, and lost; no row
    /// has one of them.
    func lostSequences() throws -> [ClosedRange<Int64>]
    /// Advances where nothing that clients hold is good any more: the database was replaced by one that may lack some of it.
    func tokenEpoch() throws -> Int64

    /// Rows of all tables whose zone does not exist, live or deleted. Scans the tables.
    func rowsWithoutZone(limit: Int) throws -> [StrayRows]
    /// Rows of all tables whose account does not exist, live or deleted. Scans the tables.
    func rowsWithoutAccount(limit: Int) throws -> [StrayRows]

    /// The account of that name, which was not deleted.
    func account(named name: String) throws -> AccountRow?
    /// The account, whether or not it was deleted.
    func account(id: Int64) throws -> AccountRow?
    func account(userRecordName: String) throws -> AccountRow?
    /// The accounts with a larger id that were not deleted, ordered by id.
    func accounts(after id: Int64, limit: Int) throws -> [AccountRow]

    /// The live zone of that name.
    func zone(owner: OwnerID, named name: String) throws -> ZoneRow?
    /// The live zones, ordered by name (byte-wise).
    func zones(owner: OwnerID) throws -> [ZoneRow]

    /// The record or tombstone of that name.
    func record(zone: ZoneKey, named name: String) throws -> RecordRow?
    /// Says that records of these names are visited next: an engine that is another process reads them at once, as many as
    /// have `size` bytes of fields.
    /// - Parameter withShares: whether the shares are asked for that they are under.
    func expectRecords(zone: ZoneKey, named names: [String], size: Int, withShares: Bool) throws
    /// Says that a zone of this name is looked up next, then its records of these names and, where `shares` is not 0, as many of
    /// its shares: an engine that is another process reads them together.
    func expectZone(named name: String, records: [String], shares: Int)
    /// Says that zones are looked up for their feeds: an engine that is another process reads with each how far it is complete.
    func expectFeeds()
    /// Those of the records and tombstones of these names that there are, in any order. Costs one way to the database.
    func records(zone: ZoneKey, named names: [String]) throws -> [RecordRow]
    /// The zone's record or tombstone that has the number in this snapshot.
    func record(_ number: RowNumber, zone: ZoneKey) throws -> RecordRow?
    /// The same two, where the database has it: `body` is called at most once, and may read what is no record.
    func visitRecord(zone: ZoneKey, named name: String, _ body: (RecordRowView) throws -> Void) throws
    func visitRecord(_ number: RowNumber, zone: ZoneKey, _ body: (RecordRowView) throws -> Void) throws
    /// The zone's records and tombstones written after `sequence`, in the order of their sequences. Ends with the row
    /// with which their fields have `size` bytes, if that comes before `limit`.
    func records(zone: ZoneKey, after sequence: Int64, limit: Int, size: Int) throws -> [RecordRow]
    /// The same, each where the database has it: `body` is called once for each in turn, and may read other things.
    func visitRecords(
        zone: ZoneKey, after sequence: Int64, limit: Int, size: Int, _ body: (RecordRowView) throws -> Void) throws

    /// A change sequence of the zone's that was committed, no number beyond it, up to which no other commit will show a
    /// change any more; 0 where there is none. An engine that writes one transaction after another gives the zone's last.
    ///
    /// It can fall: where a record changes whose sequence it was, while another write is under way.
    func completeUpTo(zone: ZoneKey) throws -> Int64
    /// No commit that is still to come has a change sequence below it; it never falls. `.max` in an engine that writes one
    /// transaction after another.
    var horizon: Int64 { get }
    /// The live zones that changed after `sequence`, in the order in which they last did.
    func zones(owner: OwnerID, changedAfter sequence: Int64, limit: Int) throws -> [ZoneRow]
    /// The zones that were deleted after `sequence` and not made again, in the order of their deletion; of one name the
    /// last.
    func deletedZones(owner: OwnerID, after sequence: Int64, limit: Int) throws -> [ZoneRow]
    /// The zone of that name that was deleted last.
    func lastDeletedZone(owner: OwnerID, named name: String) throws -> ZoneRow?
    /// The same of the owner's database: of the sequences at which its zones changed or were deleted.
    func completeUpTo(owner: OwnerID) throws -> Int64
    /// The sequence of the last deletion among the zones of the owner's that were forgotten; 0 if none was.
    func zonesForgotten(owner: OwnerID) throws -> Int64
    /// Whether `purgeTombstones` has something to remove, and `forgetZones`.
    func hasTombstone(deletedBefore time: Int64) throws -> Bool
    func hasForgettableZone(deletedBefore time: Int64) throws -> Bool

    /// The edges that point at `target` with one of `kinds`, ordered by source name (byte-wise) and kind, of the sources
    /// after `source` if given. `limit` counts sources: all edges of one source come together.
    func references(
        zone: ZoneKey, to target: String, kinds: [ReferenceRow.Kind], after source: String?, limit: Int
    ) throws -> [ReferenceRow]
    /// All edges that point at one of `targets` with one of `kinds`, in any order. Costs one way to the database.
    func references(zone: ZoneKey, to targets: [String], kinds: [ReferenceRow.Kind]) throws -> [ReferenceRow]
    /// How many edges of a kind lead to `target`, over any number of others, and how many the longest such way has; both of
    /// the first `limit` edges, of which those with few on their way come first.
    func extent(
        zone: ZoneKey, below target: String, kind: ReferenceRow.Kind, limit: Int
    ) throws -> (depth: Int, count: Int)
    /// All edges that `source` holds.
    func references(zone: ZoneKey, from source: String) throws -> [ReferenceRow]

    /// The whole schema: every record type (some have no field), and every field.
    func recordTypes() throws -> [String]
    func schemaFields() throws -> [SchemaFieldRow]

    /// The oldest jobs first.
    func jobs(limit: Int) throws -> [JobRow]
    /// The jobs behind a position, ordered by owner and id.
    func jobs(after position: JobPosition, limit: Int) throws -> [JobRow]

    /// Whether there is a job of that kind in the zone.
    func hasJob(_ kind: String, zone: ZoneKey) throws -> Bool

    /// The live zones of every owner whose id is larger, ordered by id.
    func zones(after id: Int64, limit: Int) throws -> [ZoneRow]
    /// Every index, ordered by id.
    func indexDefinitions() throws -> [IndexDefinitionRow]
    /// The first entries of a range, behind `position` if given, ordered by value and name (both byte-wise).
    func indexEntries(_ range: IndexRange, after position: IndexPosition?, limit: Int) throws -> [IndexPosition]
    /// The same entries, each with the record it is of, where the database has it; those of records that are not there
    /// are left out. `body` is given the record and what has the value that it is under; it may read what is no index,
    /// and returns whether it wants more. About `expecting` of them will do: an engine that is another process reads as many
    /// at first, and more where more are wanted.
    func visitIndexedRecords(
        _ range: IndexRange, after position: IndexPosition?, limit: Int, expecting: Int,
        _ body: (RecordRowView, IndexValueView) throws -> Bool) throws
    func hasIndexEntry(_ entry: IndexEntryRow) throws -> Bool
    /// Those of the entries of one index in one zone that are not there. Costs one way to the database.
    func missingIndexEntries(_ entries: [IndexEntryRow]) throws -> [IndexEntryRow]
    /// How many entries a range has; `limit` where it has as many or more. Costs no more than the result.
    func countIndexEntries(_ range: IndexRange, limit: Int) throws -> Int

    func subscription(owner: OwnerID, account: Int64, id: String) throws -> SubscriptionRow?
    /// An account's subscriptions to a database, ordered by id (byte-wise).
    func subscriptions(owner: OwnerID, account: Int64) throws -> [SubscriptionRow]
    /// Every account's subscriptions to a database that are about a record type, or about all where it is empty, ordered
    /// by account and id, behind `position` if given.
    func subscriptions(
        owner: OwnerID, recordType: String, after position: (account: Int64, id: String)?, limit: Int
    ) throws -> [SubscriptionRow]
    /// The record types of each database that subscriptions are about; the empty one stands for all.
    func subscribedTypes() throws -> [OwnerID: Set<String>]
    /// Those that became so after a version of `.subscribedTypes`, and maybe others.
    func subscribedTypes(after version: Int64) throws -> [OwnerID: Set<String>]

    /// Whether what was cached at a version is what the store has. An engine whose store several processes write may
    /// answer true before it knows, and runs the body again where that was wrong; one whose store has one writer, which
    /// announces its changes itself, always does.
    func isCurrent(_ version: Int64, of content: SharedContent) throws -> Bool
    /// The version in this snapshot; no number of any meaning where the store has one writer.
    func version(of content: SharedContent) throws -> Int64

    /// What is to be told, the oldest first.
    func changeEvents(limit: Int) throws -> [ChangeEventRow]
    /// The number of the newest of them; nil where there is none.
    func lastChangeEvent() throws -> Int64?

    func pushToken(_ token: String) throws -> PushTokenRow?
    /// An account's tokens, ordered by token (byte-wise).
    func pushTokens(account: Int64) throws -> [PushTokenRow]

    /// What waits for a destination, the oldest first.
    func outbox(account: Int64, destination: String, limit: Int) throws -> [OutboxRow]
    /// The destinations of an account for which something with this subject waits; the subject is not empty.
    func outboxDestinations(account: Int64, subject: String) throws -> Set<String>
    /// What is due at `now` or before, that which is due the longest first.
    func dueOutbox(at now: Int64, limit: Int) throws -> [OutboxRow]
    /// The oldest notification of each of several destinations that have one. Costs one way to the database.
    func firstOutbox(of destinations: [OutboxDestinationKey]) throws -> [OutboxRow]
    /// When the next notification becomes due that is not due at `now`; nil where there is none.
    func nextOutboxDue(after now: Int64) throws -> Int64?

    /// The file of that content, unless there is none or it was condemned.
    func asset(owner: OwnerID, content: [UInt8]) throws -> AssetRow?
    /// Every owner's files whose names are behind `file` (byte-wise), ordered by name.
    func assets(afterFile file: String, limit: Int) throws -> [AssetRow]
    /// Whether there is a file of that name.
    func hasAssetFile(named name: String) throws -> Bool
    /// Whether the store has any file.
    func hasAssets() throws -> Bool
    /// The bytes of an owner's files.
    func assetBytes(owner: OwnerID) throws -> Int64
    /// An owner's files that are not needed any more at `time`, the longest unneeded first.
    func unneededAssets(owner: OwnerID, neededBefore time: Int64, limit: Int) throws -> [AssetRow]
    /// How many files an owner has, as far as `limit`.
    func assetCount(owner: OwnerID, limit: Int) throws -> Int
    /// Whether a record refers to a file.
    func hasAssetReference(_ content: [UInt8], zone: ZoneKey, record: String) throws -> Bool
    /// Whether `condemnAssets` has something to condemn.
    func hasAsset(neededBefore time: Int64) throws -> Bool
    /// The names of files that were condemned and may not be deleted yet.
    func condemnedAssetFiles(limit: Int) throws -> [String]

    /// What came of a request. Where it is not to be sure, an engine that has a write run again whose key turns out to be
    /// taken may answer nil without looking, the first time.
    func requestKey(account: Int64, key: String, isSure: Bool) throws -> RequestKeyRow?
    /// The first account behind another one of whose requests something is kept; nil where there is none.
    func requestKeyAccount(after account: Int64) throws -> Int64?
    /// When the account's newest request was carried out that has `count` newer ones; nil where there are not as many.
    func requestKeyTime(account: Int64, behind count: Int) throws -> Int64?
    /// When the account's newest request was carried out whose outcome and those of all newer ones take more bytes, among its
    /// newest `count`; nil where they do not.
    func requestKeyTime(account: Int64, beyond bytes: Int, of count: Int) throws -> Int64?
    /// When the account's oldest request was carried out of which something is kept.
    func oldestRequestKeyTime(account: Int64) throws -> Int64?
    /// How many requests something is kept of; `limit` where they are as many or more.
    func countRequestKeys(limit: Int) throws -> Int

    /// The keys of one kind and subject, ordered by ID (byte-wise).
    func keys(zone: ZoneKey, kind: KeyRow.Kind, subject: String) throws -> [KeyRow]
    /// The keys of one kind, ordered by subject and ID (both byte-wise).
    func keys(zone: ZoneKey, kind: KeyRow.Kind) throws -> [KeyRow]
}

/// Typed reads and writes in one transaction; reads see its own writes.
package protocol StorageTransaction: StorageReader, ShareTransaction {
    /// The next change sequence: unique, and larger than every one of a write that was answered before this one began.
    func nextSequence() throws -> Int64
    /// Has the transaction run while no other write of the store does: for what happens seldom. A change sequence that is
    /// taken after it is above those of all writes that commit before this one, and below those of all that commit after.
    /// - Throws: where the body has to run again for that.
    func runAlone() throws
    /// Says that the body changes nothing when it runs again after its commit: where the answer to the commit is lost it does.
    /// What keeps the outcome of a request has that anyway.
    func mayRepeat()
    /// A number for a notification: unique, and larger than every one of a write that was answered before this one began.
    func nextOutboxID() throws -> Int64

    /// Sets the store's secret, unless it has one: then that one stays.
    func setSecret(_ secret: [UInt8]) throws

    /// Adds an account and returns it with its new id.
    /// - Throws: `StorageError` `.constraint` if its name or its user record's name is taken.
    func insertAccount(name: String, userRecordName: String) throws -> AccountRow
    /// Marks an account deleted. Its row stays without its name, which another account may have from then on.
    /// - Throws: `StorageError` `.constraint` if there is none that was not deleted.
    func markAccountDeleted(id: Int64) throws

    /// Adds a live zone under a new id.
    /// - Throws: `StorageError` `.constraint` if a live zone of the owner's has the name.
    func insertZone(owner: OwnerID, name: String, sequence: Int64) throws -> ZoneRow
    /// Marks a zone deleted at `sequence` and `time` (milliseconds since 1970), for a reason that is opaque here. Its
    /// records stay until they are purged.
    /// - Throws: `StorageError` `.constraint` if it is not a live zone.
    func markZoneDeleted(_ zone: ZoneKey, sequence: Int64, at time: Int64, reason: Int64) throws
    /// Keeps, as of the commit, that something in the zone changed with the last sequence that was given. Writers of one
    /// zone must not wait for each other because of it: an engine where they would keeps it elsewhere than in its row.
    func noteChange(zone: ZoneKey) throws
    /// Keeps what the client that modified a zone gave with it, nil for nothing; like `noteChange` without a row that all
    /// writers of a zone wait for.
    func setClientChangeToken(_ token: String?, zone: ZoneKey) throws
    /// Removes up to `limit` records of a zone that is deleted or forgotten, with their edges and about as many records'
    /// index entries; returns how many it removed, or `limit` where index entries may be left.
    /// - Throws: `StorageError` `.constraint` if it is a live zone.
    func purgeRecords(zone: ZoneKey, limit: Int) throws -> Int

    /// Removes up to `limit` tombstones of records that were deleted before `time`, the oldest first, and keeps in their
    /// zones up to which sequence it did. Each goes only with the sequence that it was seen with: one that was written
    /// meanwhile stays; and none beyond `completeUpTo`. Returns how many it looked at.
    func purgeTombstones(deletedBefore time: Int64, limit: Int) throws -> Int
    /// Removes up to `limit` zones that were deleted before `time` and hold no record any more, and keeps up to which
    /// sequence it did. Returns how many it removed.
    func forgetZones(deletedBefore time: Int64, limit: Int) throws -> Int

    /// Writes the record or tombstone of that name, whether or not one exists; one that was read keeps the number that it
    /// was read with.
    /// - Returns: its number.
    @discardableResult
    func put(_ record: RecordRow) throws -> RowNumber

    /// Writes records as `put(_:)` does each, in their order.
    /// - Returns: their numbers.
    @discardableResult
    func put(_ records: [RecordRow]) throws -> [RowNumber]

    /// Adds and removes edges; adding those that exist, or removing those that do not, changes nothing.
    func insert(_ references: [ReferenceRow]) throws
    func remove(_ references: [ReferenceRow]) throws
    /// Removes all edges that `sources` hold.
    func removeReferences(zone: ZoneKey, from sources: [String]) throws
    /// Adds an edge; adding one that exists changes nothing.
    func insert(_ reference: ReferenceRow) throws
    /// Removes an edge; removing one that does not exist changes nothing.
    func remove(_ reference: ReferenceRow) throws

    /// Adds a record type; adding one that exists changes nothing.
    func insertRecordType(_ name: String) throws
    /// Adds a field or changes its type.
    func put(_ field: SchemaFieldRow) throws

    /// Adds a job under a new id.
    func insert(_ job: JobRow) throws
    func removeJob(id: Int64) throws
    /// Keeps other transactions from a job until this one ends.
    /// - Returns: false where it is gone, or another transaction has it.
    func claim(_ job: JobRow) throws -> Bool

    /// Adds an index that is to be built, under a new id. One of the same type and components must not exist.
    func insertIndexDefinition(recordType: String, components: String, sequence: Int64) throws -> IndexDefinitionRow
    /// Stores how far an index is built, and whether it is ready.
    func updateIndexDefinition(_ definition: IndexDefinitionRow) throws
    /// Removes an index; its entries stay until they are removed.
    func removeIndexDefinition(id: Int64) throws
    /// Adds and removes entries; adding those that exist, or removing those that do not, changes nothing. Entries that are
    /// added come in the order of their index where there are many.
    func insert(_ entries: [IndexEntryRow]) throws
    func remove(_ entries: [IndexEntryRow]) throws
    /// Adds an entry; adding one that exists changes nothing.
    func insert(_ entry: IndexEntryRow) throws
    /// Removes an entry; removing one that does not exist changes nothing.
    func remove(_ entry: IndexEntryRow) throws
    /// Removes the first entries of a range; returns how many it removed.
    func removeIndexEntries(_ range: IndexRange, limit: Int) throws -> Int

    /// Adds what is to be told, under a new id.
    func insert(_ event: ChangeEventRow) throws
    /// Keeps up to which subscription an event was told, and of which sequence it is.
    func update(_ event: ChangeEventRow) throws
    func removeChangeEvent(id: Int64) throws
    /// Keeps other transactions from an event until this one ends.
    /// - Parameter position: up to which subscription it was told when it was read.
    /// - Returns: false where it is gone, was told further since, or another transaction has it.
    func claimChangeEvent(id: Int64, at position: SubscriptionPosition?) throws -> Bool

    /// Makes what is cached of the schema and the indexes stale everywhere. The transaction runs alone.
    func advanceCatalog() throws
    /// Makes the record type one that has subscribers, if it is not: an empty one stands for all. The transaction runs
    /// alone.
    func insertSubscribedType(_ recordType: String, owner: OwnerID) throws
    /// Writes the subscription of that owner, account and id, whether or not one exists; one that does stays one since it
    /// was first written.
    func put(_ subscription: SubscriptionRow) throws
    /// - Returns: whether there was one.
    func removeSubscription(owner: OwnerID, account: Int64, id: String) throws -> Bool
    /// Removes every account's subscriptions that are about the zone.
    func removeSubscriptions(zone: ZoneKey) throws

    /// Writes the token, whether or not it exists.
    func put(_ token: PushTokenRow) throws
    /// Keeps which notification was given to the client last, 0 for none that it may have.
    func noteHandedOut(_ id: Int64, token: String) throws
    /// Removes a token. What waits for its destinations stays.
    func removePushToken(_ token: String) throws

    /// Adds a notification.
    /// - Throws: `StorageError` `.constraint` if the destination has one with its id.
    func insert(_ notification: OutboxRow) throws
    /// Adds a notification at each of `places`; where it says it goes itself does not matter.
    /// - Throws: `StorageError` `.constraint` if a destination has one with its id.
    func insert(_ notification: OutboxRow, at places: [OutboxPlace]) throws
    /// Gives what is due at `now` or before, as `dueOutbox`, and leaves it due at `until` should it not be settled before.
    /// What another transaction is about to claim is left out.
    func claimDueOutbox(at now: Int64, until: Int64, limit: Int) throws -> [OutboxRow]
    /// Notes an attempt to deliver, and when the next is due. Changes nothing where there is no such notification, or its
    /// `due` is another by now.
    func updateOutbox(_ row: OutboxRow, attempts: Int64, due: Int64) throws
    /// - Returns: whether there was one.
    @discardableResult
    func removeOutbox(account: Int64, destination: String, id: Int64) throws -> Bool
    /// Removes what waits for a destination and has this subject, which is not empty.
    func removeOutbox(account: Int64, destination: String, subject: String) throws
    /// Removes what waits for an account, wherever it goes.
    func removeOutbox(account: Int64) throws
    /// Removes what waits for a destination, but for the newest.
    func removeOutbox(account: Int64, destination: String, keeping newest: Int) throws

    /// Adds a file.
    /// - Throws: `StorageError` `.constraint` if the owner has one of that content.
    func insert(_ asset: AssetRow) throws
    /// Keeps a file at least until `time`, milliseconds since 1970.
    func keepAsset(owner: OwnerID, content: [UInt8], until time: Int64) throws
    /// Gives a content another file; the former one is condemned.
    func replaceFile(of asset: AssetRow, by file: String) throws
    /// Makes a file another owner's, with its bytes. Where that has the content, the file takes the place of its own, which is
    /// condemned; otherwise it stays until `time`.
    func move(_ asset: AssetRow, to owner: OwnerID, content: [UInt8], neededUntil time: Int64) throws
    /// Ends the need for an owner's files whose content is in a range, byte-wise.
    func expireAssets(owner: OwnerID, contentFrom start: [UInt8], to end: [UInt8]) throws
    /// Condemns a file: it is gone for every reader, and its name is among `condemnedAssetFiles`.
    func condemn(_ asset: AssetRow) throws
    /// Notes that a record refers to a file, which then stays; noting it twice changes nothing.
    func insertAssetReference(_ content: [UInt8], zone: ZoneKey, record: String) throws
    /// Notes that a record does not refer to a file any more. If it was the last one, the file stays until `time`.
    func removeAssetReference(_ content: [UInt8], zone: ZoneKey, record: String, neededUntil time: Int64) throws
    /// Removes up to `limit` of what records of a zone refer to, as `removeAssetReference`; returns how many it removed.
    func purgeAssetReferences(zone: ZoneKey, limit: Int, neededUntil time: Int64) throws -> Int
    /// Condemns up to `limit` files that are not needed since before `time`: they are gone for every reader, and their names
    /// are among `condemnedAssetFiles`. Returns how many it condemned.
    func condemnAssets(neededBefore time: Int64, limit: Int) throws -> Int
    /// Notes that a condemned file was deleted.
    func removeCondemnedAsset(file: String) throws

    /// Adds what came of a request. Where another transaction is about to add the same it waits for that one.
    /// - Throws: `StorageError` `.constraint` if it is there, unless the write runs again for that.
    func insert(_ request: RequestKeyRow) throws
    /// Removes up to `limit` of what came of an account's requests before `time`, the oldest first; returns how many it removed.
    func purgeRequestKeys(account: Int64, before time: Int64, limit: Int) throws -> Int

    /// Adds a key or replaces the one of its ID.
    func put(_ key: KeyRow) throws
    /// Removes a key; removing one that does not exist changes nothing.
    func removeKey(zone: ZoneKey, kind: KeyRow.Kind, subject: String, id: [UInt8]) throws
    /// Removes up to `limit` keys of a zone; returns how many it removed.
    func purgeKeys(zone: ZoneKey, limit: Int) throws -> Int
}

extension StorageEngine {
    package var clockOffset: Int64 { 0 }
}

extension StorageReader {
    /// The zone's records and tombstones written after `sequence`, however large.
    package func records(zone: ZoneKey, after sequence: Int64, limit: Int) throws -> [RecordRow] {
        try records(zone: zone, after: sequence, limit: limit, size: .max)
    }

    /// Whether there is a record or tombstone of the zone that was written after `sequence`.
    package func hasRecord(zone: ZoneKey, after sequence: Int64) throws -> Bool {
        var isFound = false
        try visitRecords(zone: zone, after: sequence, limit: 1, size: .max) { _ in isFound = true }
        return isFound
    }
}

extension StorageTransaction {
    /// A change sequence that the sequences of rows may be compared with: it separates what committed before this write from
    /// what commits after it.
    package func nextSeparatingSequence() throws -> Int64 {
        try runAlone()
        return try nextSequence()
    }
}
