import NephosStorage
import NephosWire

/// `changes/zone`: what happened in zones since their tokens. "A record appears once, in its latest state"; a token is
/// good to keep after every page; the cost follows the number of changes.
struct FetchRecordZoneChanges {
    let request: RecordZoneChangesRequest
    let caller: Caller

    func run(accounts: Accounts, _ reader: any StorageReader) throws -> RecordZoneChangesResponse {
        if request.zones.count > Limits.operationsPerRequest {
            throw ServiceError.limitExceeded(
                "number of zones exceeds the limit of \(Limits.operationsPerRequest): \(request.zones.count)")
        }
        // However many zones are asked for, one answer has bounds: what does not fit is still to come.
        var room = AnswerRoom()
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
        _ zone: RecordZoneChangesRequest.Zone, room: inout AnswerRoom, _ accounts: Accounts,
        _ reader: any StorageReader
    ) throws -> RecordZoneChanges {
        let address = caller.address(zone.zoneID)
        guard let row = try ZoneRegistry.find(address, owner: caller.owner, reader) else {
            throw try ZoneRegistry.notFound(address, owner: caller.owner, reader)
        }
        guard ZoneRules.hasChangeFeed(row.name) else { throw ServiceError.defaultZoneHasNoChanges }
        let position = try FeedPosition(
            .zone(row.key.id), token: zone.syncToken, fetchEnd: zone.fetchEnd, owner: caller.feedOwner,
            last: try reader.lastSequence(zone: row.key), forgotten: row.purgedUntil)
        let limit = max(1, min(zone.resultsLimit ?? .max, Limits.changesPerPage))
        var page = FeedPage(position, types: zone.desiredRecordTypes.map(Set.init))
        try page.read(row.key, limit: limit, room: &room, reader)
        return RecordZoneChanges(
            zoneID: zone.zoneID, records: try results(page.rows, zone, accounts, reader),
            syncToken: position.token(at: page.end, owner: caller.feedOwner), moreComing: page.hasMore,
            clientChangeToken: row.clientChangeToken,
            fetchEnd: position.fetchEnd(after: page.end, owner: caller.feedOwner))
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

/// What one answer may still hold.
struct AnswerRoom {
    /// Rows that may be read, those included that say nothing new.
    var rows = Limits.changesReadPerRequest
    /// Bytes of fields.
    var size = Limits.changesSize

    /// An answer has a row at least, however large.
    func forOneMore() -> AnswerRoom {
        var room = self
        (room.rows, room.size) = (max(1, rows), max(1, size))
        return room
    }
}

/// A page of a zone's feed.
private struct FeedPage {
    let position: FeedPosition
    /// The record types that are wanted; nil is all.
    let types: Set<String>?
    private(set) var rows: [RecordRow] = []
    /// The change sequence up to which the feed was read.
    private(set) var end: Int64

    /// Whether the fetch goes on.
    var hasMore: Bool { end < position.end }

    init(_ position: FeedPosition, types: Set<String>?) {
        self.position = position
        self.types = types
        end = position.start
    }

    /// Reads until it has `limit` rows, until there is no more, or until the answer is full.
    mutating func read(
        _ zone: ZoneKey, limit: Int, room answer: inout AnswerRoom, _ reader: any StorageReader
    ) throws {
        // Every page moves its token, or a client would ask the same again for ever.
        var room = answer.forOneMore()
        while hasMore, rows.count < limit, room.rows > 0, room.size > 0 {
            let wanted = min(limit - rows.count, room.rows)
            let found = try reader.records(zone: zone, after: end, limit: wanted, size: room.size)
            for row in found where row.sequence <= position.end {
                end = row.sequence
                take(row)
            }
            room.rows -= found.count
            room.size -= found.reduce(0) { $0 + $1.fields.count }
            // Nothing that belongs to the fetch is left.
            if found.last.map({ $0.sequence > position.end }) ?? true { end = position.end }
        }
        (answer.rows, answer.size) = (room.rows, room.size)
    }

    /// Takes a row that says something new.
    private mutating func take(_ row: RecordRow) {
        if row.isDeleted && row.sequence <= position.deletionsKnown { return }
        if let types, !types.contains(row.type) { return }
        rows.append(row)
    }
}
