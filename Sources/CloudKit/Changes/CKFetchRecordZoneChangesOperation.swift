public import Foundation

/// Fetches what was saved and deleted in zones since their tokens (CKFetchRecordZoneChangesOperation, Apple's
/// documentation). Private and shared databases have such changes, and there every zone but the default one.
///
/// Zones are fetched one after another. Of each come its changes, batch by batch, each batch followed by a token that
/// is safe to keep, and after the last batch its result.
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// What came of a zone, with the token to keep.
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

    /// What is handed out of an answer about a zone: first the changes, and then the end.
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

    /// Zones that one request asks for.
    private static let zonesPerRequest = 50

    private let request = Locked(Request())
    private let blocks = Locked(Blocks())
    /// What failed, by record ID or zone ID, for the older completion block.
    private let failures = Locked<[AnyHashable: any Error]>([:])
    /// Where the fetches end that other operations go on with, by their zones. What is set before continues one.
    let fetchEnds = Locked<[CKRecordZone.ID: String]>([:])
    /// The records that failed for want of keys: their zones' tokens carry them.
    let waitingRecordIDs = Locked<Set<CKRecord.ID>>([])
    /// The zones' tokens before this client first sent something to them.
    let deletionsSince = Locked<[CKRecordZone.ID: String]>([:])

    public override init() { super.init() }

    /// An operation that fetches the changes of these zones, each as its configuration says.
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID]? = nil,
        configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        self.configurationsByRecordZoneID = configurationsByRecordZoneID
    }

    /// An operation that fetches the changes of these zones. Where nothing but the zones is given, the newer one is meant.
    @available(*, deprecated, message: "use init(recordZoneIDs:configurationsByRecordZoneID:)")
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID], optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]?
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        self.optionsByRecordZoneID = optionsByRecordZoneID
    }

    /// The zones; nil means those that have a configuration.
    open var recordZoneIDs: [CKRecordZone.ID]? {
        get { request.recordZoneIDs }
        set { request.recordZoneIDs = newValue }
    }

    /// From where, how much and what to fetch of the zones.
    open var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? {
        get { request.configurations }
        set { request.configurations = newValue }
    }

    /// The older form of `configurationsByRecordZoneID`, which it sets.
    @available(*, deprecated, message: "use configurationsByRecordZoneID")
    open var optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]? {
        get { request.configurations?.compactMapValues { $0 as? ZoneOptions } }
        set { request.configurations = newValue }
    }

    /// Whether the operation asks again until nothing is left; otherwise it fetches one batch of each zone.
    open var fetchAllChanges: Bool {
        get { request.fetchAllChanges }
        set { request.fetchAllChanges = newValue }
    }

    // MARK: Blocks

    /// Called once for every record that was saved, with its newest state. One whose key has not arrived fails; it comes with a
    /// later fetch, from the token that this one ends with.
    open var recordWasChangedBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)?
    {
        get { blocks.recordWasChanged }
        set { blocks.recordWasChanged = newValue }
    }

    /// Called once for every record that was deleted.
    open var recordWithIDWasDeletedBlock: ((_ recordID: CKRecord.ID, _ recordType: CKRecord.RecordType) -> Void)? {
        get { blocks.recordWithIDWasDeleted }
        set { blocks.recordWithIDWasDeleted = newValue }
    }

    /// Called after every batch of a zone but its last: the token stands for all changes that came before it.
    open var recordZoneChangeTokensUpdatedBlock: ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)? {
        get { blocks.tokensUpdated }
        set { blocks.tokensUpdated = newValue }
    }

    /// Called once for every zone, after its last batch.
    open var recordZoneFetchResultBlock:
        ((_ recordZoneID: CKRecordZone.ID, _ fetchChangesResult: ZoneFetchResult) -> Void)?
    {
        get { blocks.zoneFetchResult }
        set { blocks.zoneFetchResult = newValue }
    }

    /// Called once, at the end; if some items failed, with a `partialFailure` that has their errors by item.
    open var fetchRecordZoneChangesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once for every record that was saved, unless there is a `recordWasChangedBlock`.
    @available(*, deprecated, message: "use recordWasChangedBlock")
    open var recordChangedBlock: ((CKRecord) -> Void)? {
        get { blocks.recordChanged }
        set { blocks.recordChanged = newValue }
    }

    /// Called once for every zone, after its last batch, unless there is a `recordZoneFetchResultBlock`.
    @available(*, deprecated, message: "use recordZoneFetchResultBlock")
    open var recordZoneFetchCompletionBlock:
        ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
    {
        get { blocks.zoneFetchCompletion }
        set { blocks.zoneFetchCompletion = newValue }
    }

    /// Called once, at the end; if zones or records failed, with a `partialFailure`.
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
            // One request for the first batches of all of them: most zones have no more than that.
            for first in try await context.recordZoneAnswers(some) {
                try await fetch(first, untilDone: request.fetchAllChanges, context)
            }
        }
    }

    /// Hands out a zone's batches, of which the first is there, fetching the others.
    ///
    /// While one batch is being handed out the next one is made into objects and the one after it is on its way; no more
    /// than these are in memory, however slow the app is.
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

    /// The answer about a zone; nil where there is nothing to ask.
    private static func answer(
        _ position: RecordZonePosition?, _ context: DatabaseRequestContext
    ) async -> Result<RecordZoneAnswer, CKError>? {
        guard let position else { return nil }
        return await context.recordZoneAnswer(position)
    }

    /// What an answer gives to hand out; with a token where the fetch goes on.
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
            callbackQueue.async { continuation.resume() }
        }
    }

    private func hand(out batch: Batch) {
        // The blocks of a running operation are not changed: to look at them once is enough.
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
