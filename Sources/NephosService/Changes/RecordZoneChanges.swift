import NephosStorage
import NephosWire

/// `changes/zone`: what happened in zones since their tokens. "A record appears once, in its latest state"; a token is
/// good to keep after every page; the cost follows the number of changes.
struct FetchRecordZoneChanges {
    let request: RecordZoneChangesRequest
    let caller: Caller

    func run(accounts: Accounts, _ reader: any StorageReader) throws -> RecordZoneChangesResponse {
        // One answer holds one page of records, whatever the number of zones: what does not fit is still to come.
        var room = Limits.changesPerPage
        let zones = try request.zones.map { zone -> RecordZoneChangesResponse.Zone in
            do {
                let changes = try changes(zone, room: &room, accounts, reader)
                return .changes(changes)
            } catch let error as ServiceError {
                var dictionary = error.dictionary(requestID: caller.requestID)
                dictionary.zoneID = zone.zoneID
                return .failure(dictionary)
            }
        }
        return RecordZoneChangesResponse(zones: zones)
    }

    /// One zone's page.
    func changes(
        _ zone: RecordZoneChangesRequest.Zone, room: inout Int, _ accounts: Accounts, _ reader: any StorageReader
    ) throws -> RecordZoneChanges {
        let address = caller.address(zone.zoneID)
        guard let row = try ZoneRegistry.find(address, owner: caller.owner, reader) else {
            throw ServiceError.zoneNotFound(address.zoneName)
        }
        guard ZoneRules.hasChangeFeed(row.name) else { throw ServiceError.defaultZoneHasNoChanges }
        let start = try position(zone.syncToken, row)
        let limit = max(1, min(zone.resultsLimit ?? .max, Limits.changesPerPage, max(room, 1)))
        var page = FeedPage(isInitial: start == 0, types: zone.desiredRecordTypes.map(Set.init))
        try page.read(row.key, after: start, limit: limit, reader)
        room -= page.rows.count
        return RecordZoneChanges(
            zoneID: zone.zoneID, records: try results(page.rows, zone, accounts, reader),
            syncToken: ChangeToken(feed: .zone(row.key.id), sequence: page.end).text(owner: caller.feedOwner),
            moreComing: page.hasMore, clientChangeToken: row.clientChangeToken)
    }

    private func position(_ token: String?, _ zone: ZoneRow) throws(ServiceError) -> Int64 {
        guard let token else { return 0 }
        guard let known = ChangeToken(token, owner: caller.feedOwner), known.feed == .zone(zone.key.id) else {
            throw .changeTokenExpired
        }
        return known.sequence
    }

    private func results(
        _ rows: [RecordRow], _ zone: RecordZoneChangesRequest.Zone, _ accounts: Accounts, _ reader: any StorageReader
    ) throws -> [RecordResult] {
        var names: [Int64: String] = [:]
        for row in rows {
            for id in [row.createdBy, row.modifiedBy] where names[id] == nil {
                names[id] = try accounts.userRecordName(id: id, reader)
            }
        }
        let answer = RecordAnswer(
            desiredKeys: zone.desiredKeys, numbersAsStrings: zone.numbersAsStrings, zoneID: nil,
            userRecordNames: names)
        let results = rows.map { row -> RecordResult in
            row.isDeleted
                ? .deleted(DeletedRecord(recordName: row.name, recordType: row.type))
                : .record(answer.dictionary(row))
        }
        return zone.reverse ? results.reversed() : results
    }
}

/// A page of a zone's feed.
private struct FeedPage {
    /// Whether nothing was fetched before: then deletions say nothing new.
    let isInitial: Bool
    /// The record types that are wanted; nil is all.
    let types: Set<String>?
    private(set) var rows: [RecordRow] = []
    /// The change sequence up to which the feed was read.
    private(set) var end: Int64 = 0
    private(set) var hasMore = false

    init(isInitial: Bool, types: Set<String>?) {
        self.isInitial = isInitial
        self.types = types
    }

    mutating func read(
        _ zone: ZoneKey, after start: Int64, limit: Int, _ reader: any StorageReader
    ) throws {
        end = start
        // One more than wanted tells whether there is more. Rows that say nothing new only move the end.
        let found = try reader.records(zone: zone, after: start, limit: limit + 1)
        for row in found.prefix(limit) {
            end = row.sequence
            if isInitial && row.isDeleted { continue }
            if let types, !types.contains(row.type) { continue }
            rows.append(row)
        }
        hasMore = found.count > limit
    }
}
