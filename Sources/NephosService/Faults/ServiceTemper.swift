import NephosWire

/// Smaller limits than CloudKit's, so that code which lacks paging or batches fails with little data.
package struct ServiceBounds: Hashable, Sendable {
    /// Records to save, delete or fetch per request.
    package var recordsPerRequest: Int
    /// Bytes of the fields of a record that is saved.
    package var recordSize: Int
    /// Records or zones per page of an answer.
    package var resultsPerPage: Int
    /// Milliseconds for which a change token is valid.
    package var tokenLifetime: Int64

    package init(recordsPerRequest: Int, recordSize: Int, resultsPerPage: Int, tokenLifetime: Int64) {
        self.recordsPerRequest = recordsPerRequest
        self.recordSize = recordSize
        self.resultsPerPage = resultsPerPage
        self.tokenLifetime = tokenLifetime
    }

    /// Five records of 2 KB, pages of three, tokens of a minute.
    package static let tight = ServiceBounds(
        recordsPerRequest: 5, recordSize: 2048, resultsPerPage: 3, tokenLifetime: 60_000)

    /// - Throws: `limitExceeded` for a request that has too many records.
    func check(_ request: some Sendable) throws(ServiceError) {
        let count =
            switch request {
            case let request as ModifyRecordsRequest: request.operations.count
            case let request as LookupRecordsRequest: request.records.count
            default: 0
            }
        if count > recordsPerRequest {
            throw .limitExceeded("number of operations exceeds the limit of \(recordsPerRequest): \(count)")
        }
    }

    /// The items of a request that are too large.
    func failures(of batch: some ItemisedRequest) -> [Int: ServiceError] {
        guard let request = batch as? ModifyRecordsRequest else { return [:] }
        let places = request.operations.indices.filter { request.operations[$0].record.fields.storedSize > recordSize }
        let error = ServiceError.limitExceeded("record size exceeds the limit of \(recordSize) bytes")
        return Dictionary(uniqueKeysWithValues: places.map { ($0, error) })
    }

    /// Returns the request for a page of the bound's size.
    func limited<Request>(_ request: Request) -> Request {
        FaultPages.limited(request) { min($0 ?? resultsPerPage, resultsPerPage) } ?? request
    }
}

/// What an unfriendly service does with a notification.
package enum NotificationTreatment: Sendable {
    case normal, lost, twice, late
    /// Only the newest of several arrives.
    case merged
}

/// What a service does that CloudKit's documentation allows and tests rarely see.
struct Unfriendliness: Sendable {
    private var generator: SplitMix
    /// The former answers to queries, by account and query.
    private var answers: [String: QueryRecordsResponse] = [:]

    init(seed: UInt64) { generator = SplitMix(state: seed) }

    private mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &generator) < share }

    mutating func delivery() -> NotificationTreatment {
        switch Int.random(in: 0..<7, using: &generator) {
        case 0: .lost
        case 1: .twice
        case 2: .late
        case 3: .merged
        default: .normal
        }
    }

    /// The number of empty pages so far.
    private var emptyPages = 0

    /// Returns the token or marker of an empty page: another one than the request's, as a position that does not move is
    /// none of the service's.
    /// - Parameter token: that of the request; nil for the first page.
    private mutating func tokenOfEmptyPage(after token: String?) -> String {
        emptyPages += 1
        return Base64.text(Array("\(Self.emptyMark)\(emptyPages) \(token ?? "")".utf8))
    }

    private static let emptyMark = "empty page "

    /// Returns the token that the service knows: for that of an empty page, the one before it.
    private static func known(_ token: String?) -> String? {
        guard let token, let bytes = Base64.decodeLines(token) else { return token }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasPrefix(emptyMark), let space = text.lastIndex(of: " ") else { return token }
        let former = text[text.index(after: space)...]
        return former.isEmpty ? nil : String(former)
    }

    /// Returns the request in a form whose records can be put in another order, and that the service understands.
    static func readable<Request>(_ request: Request) -> Request {
        let readable: any Sendable
        switch FaultPages.limited(request, { $0 }) {
        case let query as DecodedQuery:
            var page = query.request
            page.continuationMarker = known(page.continuationMarker)
            readable = DecodedQuery(page)
        case var changes as RecordZoneChangesRequest:
            for index in changes.zones.indices {
                changes.zones[index].syncToken = known(changes.zones[index].syncToken)
            }
            readable = changes
        case var changes as DatabaseChangesRequest:
            changes.syncToken = known(changes.syncToken)
            readable = changes
        default: return request
        }
        return readable as? Request ?? request
    }

    /// Returns what the client gets instead of an answer.
    mutating func changed<Response>(
        _ response: Response, to request: some Sendable, _ context: RequestContext
    ) -> Response {
        let changed: any Sendable
        switch (request, response) {
        case (let request as RecordZoneChangesRequest, var page as RecordZoneChangesResponse):
            for place in page.zones.indices where place < request.zones.count {
                page.zones[place] = self.changed(page.zones[place], of: request.zones[place])
            }
            changed = page
        case (let request as DatabaseChangesRequest, let page as DatabaseChangesResponse):
            changed = self.changed(page, since: request.syncToken)
        case (let request as DecodedQuery, let page as QueryRecordsResponse):
            changed = self.changed(page, to: request.request, context)
        default: return response
        }
        return changed as? Response ?? response
    }

    /// An empty page with more to come, or the records in another order, one of them twice.
    private mutating func changed(
        _ zone: RecordZoneChangesResponse.Zone, of request: RecordZoneChangesRequest.Zone
    ) -> RecordZoneChangesResponse.Zone {
        guard case .changes(var changes) = zone else { return zone }
        // A client that asks for deletions from before its first token does so with the first page alone.
        if request.syncToken != nil || request.deletionsSince == nil, chance(0.3) {
            let token = tokenOfEmptyPage(after: request.syncToken)
            var empty = RecordZoneChanges(zoneID: changes.zoneID, records: [], syncToken: token, moreComing: true)
            empty.fetchEnd = changes.fetchEnd
            return .changes(empty)
        }
        changes.records.shuffle(using: &generator)
        if let twice = changes.records.first, chance(0.3) { changes.records.append(twice) }
        return .changes(changes)
    }

    private mutating func changed(
        _ page: DatabaseChangesResponse, since token: String?
    ) -> DatabaseChangesResponse {
        guard chance(0.3) else { return page }
        return DatabaseChangesResponse(
            zones: [], syncToken: tokenOfEmptyPage(after: token), moreComing: true, fetchEnd: page.fetchEnd)
    }

    /// An empty page before the next one, or the answer that the query had before.
    private mutating func changed(
        _ page: QueryRecordsResponse, to request: QueryRecordsRequest, _ context: RequestContext
    ) -> QueryRecordsResponse {
        if chance(0.3), !request.wantsCount {
            return QueryRecordsResponse(
                records: [], continuationMarker: tokenOfEmptyPage(after: request.continuationMarker))
        }
        if request.continuationMarker != nil { return page }
        let key = "\(context.account ?? "") \(context.scope) " + String(decoding: request.encoded(), as: UTF8.self)
        defer { answers[key] = page }
        guard let former = answers[key], chance(0.5) else { return page }
        return former
    }
}
