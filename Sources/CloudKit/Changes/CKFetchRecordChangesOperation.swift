public import Foundation

/// Fetches one batch of one zone's changes (CKFetchRecordChangesOperation, Apple's documentation).
@available(*, deprecated, message: "use CKFetchRecordZoneChangesOperation")
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Request {
        var recordZoneID: CKRecordZone.ID?
        var values = ZoneFetchValues()
    }

    private struct Blocks {
        var recordChanged: ((CKRecord) -> Void)?
        var recordWithIDWasDeleted: ((CKRecord.ID) -> Void)?
        var completion: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)?
    }

    private struct End {
        var token: CKServerChangeToken?
        var data: Data?
        var moreComing = false
    }

    private let request = Locked(Request())
    private let blocks = Locked(Blocks())
    private let end = Locked(End())

    public override init() { super.init() }

    /// An operation that fetches the changes of a zone since a token; nil fetches from the beginning.
    public convenience init(recordZoneID: CKRecordZone.ID, previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.recordZoneID = recordZoneID
        self.previousServerChangeToken = previousServerChangeToken
    }

    /// The zone whose changes are fetched.
    open var recordZoneID: CKRecordZone.ID? {
        get { request.recordZoneID }
        set { request.recordZoneID = newValue }
    }

    /// The token at which the last fetch ended; nil fetches from the beginning.
    open var previousServerChangeToken: CKServerChangeToken? {
        get { request.values.previousServerChangeToken }
        set { request.values.previousServerChangeToken = newValue }
    }

    /// The maximum number of changes per batch; 0 leaves the limit to the service.
    open var resultsLimit: Int {
        get { request.values.resultsLimit }
        set { request.values.resultsLimit = newValue }
    }

    /// The keys of the fields to fetch; nil for all fields.
    open var desiredKeys: [String]? {
        get { request.values.desiredKeys }
        set { request.values.desiredKeys = newValue }
    }

    /// Called once for every saved record, with its newest state.
    open var recordChangedBlock: ((CKRecord) -> Void)? {
        get { blocks.recordChanged }
        set { blocks.recordChanged = newValue }
    }

    /// Called once for every deleted record.
    open var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)? {
        get { blocks.recordWithIDWasDeleted }
        set { blocks.recordWithIDWasDeleted = newValue }
    }

    /// Whether the service has more changes. Another operation with this operation's new token fetches them. The value
    /// is valid after this operation finishes.
    open var moreComing: Bool { end.moreComing }

    /// Called once, at the end, with the token to store and the error, which is nil on success.
    open var fetchRecordChangesCompletionBlock: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    override func perform() async throws(CKError) {
        let context = makeRequestContext()
        try context.requireChangeFeed()
        let request = request.withLock { $0 }
        guard let zoneID = request.recordZoneID else {
            throw CKError(.invalidArguments, "The operation names no zone.", context.errors)
        }
        let position = RecordZonePosition(zoneID: zoneID, values: request.values)
        let answer = try await context.recordZoneAnswers([position])[0]
        var waiting = answer.waiting
        let batch = try await context.batchWithContent(answer, &waiting)
        end.exchange(
            End(token: batch.serverChangeToken, data: batch.clientChangeTokenData, moreComing: batch.moreComing))
        deliver(batch.changes) { self.hand(out: $0) }
    }

    private func hand(out change: RecordZoneChangeBatch.Change) {
        let blocks = blocks.withLock { $0 }
        switch change {
        case .changed(let record): blocks.recordChanged?(record)
        case .failed, .waiting: break
        case .deleted(let recordID, _): blocks.recordWithIDWasDeleted?(recordID)
        }
    }

    override func conclude(_ failure: CKError?) {
        let end = end.withLock { $0 }
        blocks.completion?(failure == nil ? end.token : nil, failure == nil ? end.data : nil, failure)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
