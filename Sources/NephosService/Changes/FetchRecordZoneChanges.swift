import NephosStorage
import NephosWire

/// `changes/zone`: the changes of zones since their tokens. "A record appears once, in its latest state". A client can
/// store the token of every page and resume from it. The cost is proportional to the number of changes.
struct FetchRecordZoneChanges {
    let request: RecordZoneChangesRequest
    let caller: Caller
    /// Whether records are encoded as JSON, the form that a server sends, instead of as values.
    var encodesRecords = false

    func run(accounts: Accounts, _ reader: StorageReader) throws -> RecordZoneChangesResponse {
        if request.zones.count > Limits.operationsPerRequest {
            throw ServiceError.limitExceeded(
                "number of zones exceeds the limit of \(Limits.operationsPerRequest): \(request.zones.count)")
        }
        // The size of one response is bounded, however many zones are requested. The remainder is in the next pages.
        var budget = PageBudget()
        let zones = try request.zones.map { zone -> RecordZoneChangesResponse.Zone in
            do {
                let changes = try changes(zone, budget: &budget, accounts, reader)
                return .changes(changes)
            } catch let error as ServiceError {
                var dictionary = error.dictionary(requestID: caller.requestID)
                dictionary.zoneID = caller.spelled(zone.zoneID)
                return .failure(dictionary)
            }
        }
        return RecordZoneChangesResponse(zones: zones)
    }

    /// One page of a zone's changes.
    func changes(
        _ zone: RecordZoneChangesRequest.Zone, budget: inout PageBudget, _ accounts: Accounts,
        _ reader: StorageReader
    ) throws -> RecordZoneChanges {
        let address = caller.address(zone.zoneID)
        reader.expectFeeds()
        guard let found = try ZoneRegistry.find(address, caller, reader) else {
            throw try ZoneRegistry.notFound(address, caller, .toRead, reader)
        }
        if let shared = found.shared { return try changes(zone, in: shared, budget: &budget, accounts, reader) }
        let row = found.row
        guard ZoneRules.hasChangeFeed(row.name) else { throw ServiceError.defaultZoneHasNoChanges }
        let position = try FeedPosition(
            .zone(row.key.id), token: zone.syncToken, deletionsSince: zone.deletionsSince, fetchEnd: zone.fetchEnd,
            caller.tokenCodec, last: try reader.completeUpTo(zone: row.key),
            forgotten: row.purgedUntil)
        // The first page of a packed fetch has the limit of an ordinary page, so that it arrives soon.
        let mostPerPage =
            zone.packed && zone.fetchEnd != nil ? Limits.packedChangesPerPage : Limits.changesPerPage
        let limit = try Limits.ofPage(zone.resultsLimit, most: mostPerPage)
        var page = FeedPage(position, types: zone.desiredRecordTypes.map { Set($0.filter(\.hasASCIIOnly)) })
        let projection = RecordProjection(
            desiredKeys: zone.desiredKeys, numbersAsStrings: zone.numbersAsStrings, assets: caller.assets)
        var changes = RecordZoneChanges(
            zoneID: caller.spelled(zone.zoneID), records: [], syncToken: "", moreComing: false,
            clientChangeToken: row.clientChangeToken)
        let encoder = encoder(zone, limit: limit, accounts, reader)
        if zone.packed { budget.size = min(budget.size, Limits.packedChangesSize) }
        try page.read(row.key, limit: limit, budget: &budget, reader) { try encoder.add(change: $0, projection) }
        try encoder.finish(into: &changes)
        if zone.reverse { changes.records.reverse() }
        changes.syncToken = position.token(at: page.end, caller.tokenCodec)
        changes.moreComing = page.hasMore
        budget.take(changes.clientChangeToken)
        changes.fetchEnd = position.fetchEnd(after: page.end, caller.tokenCodec)
        return changes
    }

    private func encoder(
        _ zone: RecordZoneChangesRequest.Zone, limit: Int, _ accounts: Accounts, _ reader: StorageReader
    ) -> any FeedEncoder {
        zone.packed && !zone.reverse
            ? PackedRecordEncoder(reserving: limit * Self.packedRecordSize, accounts, reader, caller)
            : RecordEncoder(
                encoded: encodesRecords && !zone.reverse, reserving: Self.pageSize, accounts, reader, caller)
    }

    /// One page of the changes of a zone that is shared with the caller.
    private func changes(
        _ zone: RecordZoneChangesRequest.Zone, in shared: SharedZone, budget: inout PageBudget, _ accounts: Accounts,
        _ reader: StorageReader
    ) throws -> RecordZoneChanges {
        var token: SharedZoneToken?
        if let text = zone.syncToken {
            guard let known = SharedZoneToken(text, caller.tokenCodec) else {
                throw ServiceError.changeTokenExpired
            }
            token = known
        }
        let account = try caller.requireAccount()
        let limit = try Limits.ofPage(zone.resultsLimit, most: Limits.changesPerPage)
        var feed = SharedZoneFeed(zone: shared, reader: reader)
        feed.fetchEnd = try zone.fetchEnd.map { try self.fetchEnd($0, of: shared) }
        let page = try feed.page(
            after: token, former: try reader.memberships(account: account.id, zone: shared.zone.key), limit: limit,
            budget: &budget)
        budget.take(shared.zone.clientChangeToken)
        let records = RecordEncoder(encoded: false, reserving: 0, accounts, reader, caller)
        let types = zone.desiredRecordTypes.map(Set.init)
        let projection = RecordProjection(
            desiredKeys: zone.desiredKeys, numbersAsStrings: zone.numbersAsStrings, isShared: true,
            assets: caller.assets)
        for change in page.changes {
            switch change {
            case .changed(let row):
                if types?.contains(row.type) ?? true { try records.add(row, projection) }
            case .deleted(let name, let type):
                guard types?.contains(type) ?? true else { continue }
                records.add(.deleted(DeletedRecord(recordName: name, recordType: type)))
            }
        }
        let values = try records.finish().records
        return RecordZoneChanges(
            zoneID: zone.zoneID, records: zone.reverse ? values.reversed() : values,
            syncToken: page.token.text(caller.tokenCodec), moreComing: page.hasMore,
            clientChangeToken: shared.zone.clientChangeToken,
            fetchEnd: page.hasMore ? try (feed.fetchEnd ?? feed.end()).text(caller.tokenCodec, for: .fetchEnd) : nil)
    }

    private func fetchEnd(_ text: String, of shared: SharedZone) throws(ServiceError) -> SharedZoneToken {
        let strings = caller.tokenCodec
        let end = SharedZoneToken(text, strings, for: .fetchEnd) ?? SharedZoneToken(text, strings, for: .syncToken)
        guard let end, end.zone == shared.zone.key.id else { throw .changeTokenExpired }
        return end
    }

    /// The number of bytes reserved for a page: enough for most pages.
    private static let pageSize = 256 * 1024
    /// The number of bytes reserved for each record of a packed page.
    private static let packedRecordSize = 1024
}

/// A page of a zone's feed.
private struct FeedPage {
    let position: FeedPosition
    /// The requested record types; nil for all types.
    let types: Set<String>?
    /// The number of rows so far that yielded a change.
    private var count = 0
    /// The change sequence up to which the feed was read.
    private(set) var end: Int64

    /// Whether the fetch has a next page.
    var hasMore: Bool { end < position.end }

    init(_ position: FeedPosition, types: Set<String>?) {
        self.position = position
        self.types = types
        end = position.start
    }

    /// Reads until `limit` rows have yielded a change, the fetch ends, or the response's budget is used up. `take`
    /// receives each row that yields a change.
    mutating func read(
        _ zone: ZoneKey, limit: Int, budget answer: inout PageBudget, _ reader: StorageReader,
        _ take: (RecordRowView) throws -> Void
    ) throws {
        answer.beginFeed()
        var budget = answer
        while hasMore, count < limit, budget.rows > 0, budget.size > 0 {
            let wanted = min(limit - count, budget.rows)
            let size = budget.size
            var isAtEnd = true
            try reader.visitRecords(zone: zone, after: end, limit: wanted, size: size) { record in
                budget.rows -= 1
                budget.size -= record.fields.count
                let sequence = record.sequence
                isAtEnd = sequence > position.end
                if isAtEnd { return }
                end = sequence
                if isNews(record, sequence) {
                    count += 1
                    try take(record)
                }
            }
            // All remaining rows are newer than the end of the fetch, or there are none.
            if isAtEnd { end = position.end }
        }
        (answer.rows, answer.size) = (budget.rows, budget.size)
    }

    private func isNews(_ record: RecordRowView, _ sequence: Int64) -> Bool {
        if record.isDamaged { return true }
        if record.isDeleted && sequence <= position.deletionsKnown { return false }
        guard let types else { return true }
        return types.contains(String(decoding: record.type, as: UTF8.self))
    }
}
