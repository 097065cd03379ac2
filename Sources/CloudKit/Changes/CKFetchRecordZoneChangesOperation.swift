public import Foundation

/// Fetches the records that were saved or deleted in zones since the zones' change tokens
/// (CKFetchRecordZoneChangesOperation, Apple's documentation). Only private and shared databases have such changes, in
/// every zone except the default zone.
///
/// The zones are fetched one after another. The changes of each zone are delivered batch by batch. A token that is safe
/// to store follows each batch, and the result of the zone follows the last batch.
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The result of a zone's fetch, which contains the token to store.
    public typealias ZoneFetchResult = Result<
        (serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool), any Error
    >

    private struct Request {
        var recordZoneIDs: [CKRecordZone.ID]?
        var configurations: [CKRecordZone.ID: ZoneConfiguration]?
        var fetchAllChanges = true
    }

    private struct Blocks {
        var recordWasChanged: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
        var recordWithIDWasDeleted: ((CKRecord.ID, CKRecord.RecordType) -> Void)?
        var tokensUpdated: ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)?
        var zoneFetchResult: ((CKRecordZone.ID, ZoneFetchResult) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var recordChanged: ((CKRecord) -> Void)?
        var zoneFetchCompletion: ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
        var completion: (((any Error)?) -> Void)?
    }

    /// The part of an answer about a zone that is delivered next: first the changes, and then the end.
    private struct Batch: Sendable {
        enum End: Sendable {
            case tokens(CKServerChangeToken, Data?)
            case zone(CKServerChangeToken, Data?, moreComing: Bool)
            case failed(CKError)
        }

        var zoneID: CKRecordZone.ID
        var changes: [RecordZoneChangeBatch.Change] = []
        var end: End
    }

    /// The maximum number of zones per request.
    private static let zonesPerRequest = 50

    private let request = Locked(Request())
    private let blocks = Locked(Blocks())
    /// The errors by record ID or zone ID, for the older completion block.
    private let failures = Locked<[AnyHashable: any Error]>([:])
    /// The end positions, by zone, of fetches that other operations continue. A value that is set before the start
    /// continues an earlier fetch.
    let fetchEnds = Locked<[CKRecordZone.ID: String]>([:])
    /// The IDs of the records that failed because their keys were missing. The change tokens of their zones contain
    /// their identity.
    let waitingRecordIDs = Locked<Set<CKRecord.ID>>([])
    /// The tokens of zones from before this client's first send to them, by zone.
    let deletionsSince = Locked<[CKRecordZone.ID: String]>([:])

    public override init() { super.init() }

    /// An operation that fetches the changes of these zones, each under its own configuration.
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID]? = nil,
        configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        self.configurationsByRecordZoneID = configurationsByRecordZoneID
    }

    /// An operation that fetches the changes of these zones. A call that passes only the zones resolves to the newer
    /// initializer.
    @available(*, deprecated, message: "use init(recordZoneIDs:configurationsByRecordZoneID:)")
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID], optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]?
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        self.optionsByRecordZoneID = optionsByRecordZoneID
    }

    /// The IDs of the zones; nil for the zones that have a configuration.
    open var recordZoneIDs: [CKRecordZone.ID]? {
        get { request.recordZoneIDs }
        set { request.recordZoneIDs = newValue }
    }

    /// The configuration of each zone's fetch, by zone: its start token, its limit and its keys.
    open var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? {
        get { request.configurations }
        set { request.configurations = newValue }
    }

    /// The older form of `configurationsByRecordZoneID`. Setting it sets that property.
    @available(*, deprecated, message: "use configurationsByRecordZoneID")
    open var optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]? {
        get { request.configurations?.compactMapValues { $0 as? ZoneOptions } }
        set { request.configurations = newValue }
    }

    /// Whether the operation fetches all batches. If false, it fetches one batch per zone.
    open var fetchAllChanges: Bool {
        get { request.fetchAllChanges }
        set { request.fetchAllChanges = newValue }
    }

    // MARK: Blocks

    /// Called once for every saved record, with its newest state. A record whose key has not arrived fails. A later
    /// fetch from the last token of this fetch returns the record.
    open var recordWasChangedBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)?
    {
        get { blocks.recordWasChanged }
        set { blocks.recordWasChanged = newValue }
    }

    /// Called once for every deleted record.
    open var recordWithIDWasDeletedBlock: ((_ recordID: CKRecord.ID, _ recordType: CKRecord.RecordType) -> Void)? {
        get { blocks.recordWithIDWasDeleted }
        set { blocks.recordWithIDWasDeleted = newValue }
    }

    /// Called after every batch of a zone except its last. The token covers all changes delivered so far.
    open var recordZoneChangeTokensUpdatedBlock: ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)? {
        get { blocks.tokensUpdated }
        set { blocks.tokensUpdated = newValue }
    }

    /// Called once for every zone, after its last batch, with the zone's result.
    open var recordZoneFetchResultBlock:
        ((_ recordZoneID: CKRecordZone.ID, _ fetchChangesResult: ZoneFetchResult) -> Void)?
    {
        get { blocks.zoneFetchResult }
        set { blocks.zoneFetchResult = newValue }
    }

    /// Called once, at the end. If items failed, the error is a `partialFailure` with their errors by item.
    open var fetchRecordZoneChangesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once for every saved record, unless `recordWasChangedBlock` is set.
    @available(*, deprecated, message: "use recordWasChangedBlock")
    open var recordChangedBlock: ((CKRecord) -> Void)? {
        get { blocks.recordChanged }
        set { blocks.recordChanged = newValue }
    }

    /// Called once for every zone, after its last batch, unless `recordZoneFetchResultBlock` is set.
    @available(*, deprecated, message: "use recordZoneFetchResultBlock")
    open var recordZoneFetchCompletionBlock:
        ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
    {
        get { blocks.zoneFetchCompletion }
        set { blocks.zoneFetchCompletion = newValue }
    }

    /// Called once, at the end. If zones or records failed, the error is a `partialFailure`.
    @available(*, deprecated, message: "use fetchRecordZoneChangesResultBlock")
    open var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let context = makeRequestContext()
        try context.requireChangeFeed()
        let request = request.withLock { $0 }
        let zoneIDs =
            request.recordZoneIDs?.uniqued() ?? request.configurations?.keys.sorted { $0.zoneName < $1.zoneName }
        let positions = (zoneIDs ?? []).map { zoneID in
            RecordZonePosition(
                zoneID: zoneID, values: request.configurations?[zoneID]?.snapshot ?? ZoneFetchValues(),
                fetchEnd: fetchEnds.withLock { $0[zoneID] }, deletionsSince: deletionsSince.withLock { $0[zoneID] })
        }
        for start in stride(from: 0, to: positions.count, by: Self.zonesPerRequest) {
            let some = Array(positions[start..<min(start + Self.zonesPerRequest, positions.count)])
            // One request fetches the first batch of every zone, because most zones have only one batch.
            for first in try await context.recordZoneAnswers(some) {
                try await fetch(first, untilDone: request.fetchAllChanges, context)
            }
        }
    }

    /// Delivers the batches of a zone. The first batch is given, and the others are fetched.
    ///
    /// The batches are pipelined: while one batch is delivered, the next is converted into objects, and the one after
    /// it is fetched. Only these three are in memory, however slow the app is.
    private func fetch(
        _ first: RecordZoneAnswer, untilDone: Bool, _ context: DatabaseRequestContext
    ) async throws(CKError) {
        var answer = first
        var waiting = first.waiting
        while true {
            let position = untilDone && !answer.standsStill ? answer.next : nil
            async let fetched = Self.answer(position, context)
            let batch = await batch(answer, untilDone: untilDone, &waiting, context)
            await waitForCallbacks()
            guard !isCancelled else { return }
            deliver([batch]) { self.hand(out: $0) }
            guard case .tokens(let token, _) = batch.end else { return }
            if let next = await fetched {
                answer = try next.get()
            } else if answer.next == nil {
                answer = try await context.recordZoneAnswers([answer.position(after: token)])[0]
            } else {
                throw CKError(
                    .internalError, "The service has more changes but its token does not move.", context.errors)
            }
        }
    }

    /// Requests the next batch of a zone; nil if there is nothing to request.
    private static func answer(
        _ position: RecordZonePosition?, _ context: DatabaseRequestContext
    ) async -> Result<RecordZoneAnswer, CKError>? {
        guard let position else { return nil }
        return await context.recordZoneAnswer(position)
    }

    /// Returns the part of an answer to deliver, with a token if the fetch continues.
    private func batch(
        _ answer: RecordZoneAnswer, untilDone: Bool, _ waiting: inout WaitingFetch, _ context: DatabaseRequestContext
    ) async -> Batch {
        let zoneID = answer.zoneID
        do throws(CKError) {
            let batch = try await context.batchWithContent(answer, &waiting)
            let (token, data) = (batch.serverChangeToken, batch.clientChangeTokenData)
            fetchEnds.withLock { $0[zoneID] = batch.fetchEnd }
            return Batch(
                zoneID: zoneID, changes: batch.changes,
                end: untilDone && batch.moreComing
                    ? .tokens(token, data) : .zone(token, data, moreComing: batch.moreComing))
        } catch {
            return Batch(zoneID: zoneID, end: .failed(error))
        }
    }

    private func waitForCallbacks() async {
        await withCheckedContinuation { continuation in
            callBack { continuation.resume() }
        }
    }

    private func hand(out batch: Batch) {
        // The blocks of a running operation do not change, so they are read once.
        let blocks = blocks.withLock { $0 }
        for change in batch.changes {
            guard !isCancelled else { return }
            hand(out: change, blocks)
        }
        guard !isCancelled else { return }
        hand(out: batch.end, of: batch.zoneID, blocks)
    }

    private func hand(out change: RecordZoneChangeBatch.Change, _ blocks: Blocks) {
        switch change {
        case .changed(let record):
            if let block = blocks.recordWasChanged {
                block(record.recordID, .success(record))
            } else {
                blocks.recordChanged?(record)
            }
        case .failed(let recordID, let error), .waiting(let recordID, let error):
            failures.withLock { $0[recordID] = error }
            if case .waiting = change { waitingRecordIDs.withLock { _ = $0.insert(recordID) } }
            blocks.recordWasChanged?(recordID, .failure(error))
        case .deleted(let recordID, let type):
            blocks.recordWithIDWasDeleted?(recordID, type)
        }
    }

    private func hand(out end: Batch.End, of zoneID: CKRecordZone.ID, _ blocks: Blocks) {
        switch end {
        case .tokens(let token, let data):
            blocks.tokensUpdated?(zoneID, token, data)
        case .zone(let token, let data, let moreComing):
            if let block = blocks.zoneFetchResult {
                block(zoneID, .success((token, data, moreComing)))
            } else {
                blocks.zoneFetchCompletion?(zoneID, token, data, moreComing, nil)
            }
        case .failed(let error):
            failures.withLock { $0[zoneID] = error }
            if let block = blocks.zoneFetchResult {
                block(zoneID, .failure(error))
            } else {
                blocks.zoneFetchCompletion?(zoneID, nil, nil, false, error)
            }
        }
    }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        let failures = failures.exchange([:])
        let error = failure ?? .partialFailure(ifAny: failures, errorContext)
        blocks.result?(error.map { .failure($0) } ?? .success(()))
        blocks.completion?(error)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
