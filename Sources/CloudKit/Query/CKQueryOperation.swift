import Foundation
import NephosWire

/// Searches a database for records (CKQueryOperation, Apple's documentation). The operation returns one page, and a
/// cursor if there may be more.
open class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The value of `resultsLimit` that leaves the page size to the service.
    open class var maximumResults: Int { 0 }

    private struct Request {
        var query: CKQuery?
        var cursor: Cursor?
        var zoneID: CKRecordZone.ID?
        var resultsLimit = 0
        var desiredKeys: [CKRecord.FieldKey]?
    }

    private struct Blocks {
        var recordMatched: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
        var result: ((Result<Cursor?, any Error>) -> Void)?
        var recordFetched: ((CKRecord) -> Void)?
        var completion: ((Cursor?, (any Error)?) -> Void)?
    }

    private struct Outcome {
        var cursor: Cursor?
        var errors: [AnyHashable: any Error] = [:]
    }

    private let request = Locked(Request())
    private let blocks = Locked(Blocks())
    private let outcome = Locked(Outcome())

    public override init() { super.init() }

    /// An operation that runs a query from its first page.
    public convenience init(query: CKQuery) {
        self.init()
        self.query = query
    }

    /// An operation that fetches the page after an earlier one.
    public convenience init(cursor: CKQueryOperation.Cursor) {
        self.init()
        self.cursor = cursor
    }

    /// The query to run; nil if the operation continues from a cursor. Setting it stores a copy.
    open var query: CKQuery? {
        get { request.query }
        set { request.query = newValue.map { $0.copy() as? CKQuery ?? $0 } }
    }

    /// The position from which the operation continues; nil to run `query` from its first page. If it is set, `query`
    /// and `zoneID` are ignored.
    open var cursor: CKQueryOperation.Cursor? {
        get { request.cursor }
        set { request.cursor = newValue }
    }

    /// The zone to search; nil for all zones, which the shared database does not allow.
    open var zoneID: CKRecordZone.ID? {
        get { request.zoneID }
        set { request.zoneID = newValue }
    }

    /// The maximum number of records per page. The service may return fewer.
    open var resultsLimit: Int {
        get { request.resultsLimit }
        set { request.resultsLimit = newValue }
    }

    /// The keys of the fields to fetch; nil for all fields, empty for none.
    open var desiredKeys: [CKRecord.FieldKey]? {
        get { request.desiredKeys }
        set { request.desiredKeys = newValue }
    }

    /// Called once for every record, in the order of the query, with the record or its error.
    open var recordMatchedBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)? {
        get { blocks.recordMatched }
        set { blocks.recordMatched = newValue }
    }

    /// Called once, at the end, with the cursor of the next page; nil if there is none. The error, if any, concerns the
    /// whole operation and is never a `partialFailure`.
    open var queryResultBlock: ((_ operationResult: Result<CKQueryOperation.Cursor?, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once for every record, unless `recordMatchedBlock` is set.
    @available(*, deprecated, message: "use recordMatchedBlock")
    open var recordFetchedBlock: ((CKRecord) -> Void)? {
        get { blocks.recordFetched }
        set { blocks.recordFetched = newValue }
    }

    /// Called once, at the end, with the cursor of the next page; nil if there is none. If single records failed, the
    /// error is a `partialFailure`.
    @available(*, deprecated, message: "use queryResultBlock")
    open var queryCompletionBlock: ((CKQueryOperation.Cursor?, (any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let context = makeRequestContext()
        let page = try makePage(context)
        try context.requireAccount()
        let (matches, continuationMarker) = try await context.query(page)
        outcome.cursor = continuationMarker.map { Cursor(page, continuationMarker: $0) }
        deliver(matches) { self.hand(out: $0) }
    }

    /// Returns the request for the next page.
    private func makePage(_ context: DatabaseRequestContext) throws(CKError) -> QueryRecordsRequest {
        let request = request.withLock { $0 }
        var page: QueryRecordsRequest
        if let cursor = request.cursor {
            guard let next = cursor.page else {
                throw CKError(
                    .invalidArguments, "The cursor is not of this service: begin with the query.", context.errors)
            }
            page = next
        } else if let query = request.query {
            page = try context.request(query, in: request.zoneID)
        } else {
            throw CKError(
                .invalidArguments, "The operation has nothing to search for: set its query or its cursor.",
                context.errors)
        }
        page.resultsLimit = request.resultsLimit > 0 ? request.resultsLimit : nil
        page.desiredKeys = request.desiredKeys
        return page
    }

    private func hand(out match: DatabaseRequestContext.Match) {
        let blocks = blocks.withLock { $0 }
        if case .failure(let error) = match.result { outcome.withLock { $0.errors[match.recordID] = error } }
        if let block = blocks.recordMatched {
            block(match.recordID, match.result.mapError { $0 })
        } else if case .success(let record) = match.result {
            blocks.recordFetched?(record)
        }
    }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        let outcome = outcome.exchange(Outcome())
        blocks.result?(failure.map { .failure($0) } ?? .success(outcome.cursor))
        let error = failure ?? .partialFailure(ifAny: outcome.errors, errorContext)
        blocks.completion?(failure == nil ? outcome.cursor : nil, error)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
