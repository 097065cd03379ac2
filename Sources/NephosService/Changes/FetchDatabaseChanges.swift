import NephosStorage
import NephosWire

/// `changes/database`: the zones that changed or were deleted since a token. The cost is proportional to the number of
/// these zones.
struct FetchDatabaseChanges {
    let request: DatabaseChangesRequest
    let caller: Caller

    func run(_ reader: StorageReader) throws -> DatabaseChangesResponse {
        if caller.scope == .shared { return try runShared(reader) }
        let position = try FeedPosition(
            .database, token: request.syncToken, fetchEnd: request.fetchEnd, caller.tokenCodec,
            last: try caller.owner.map { try reader.completeUpTo(owner: $0) } ?? 0,
            forgotten: try caller.owner.map { try reader.zonesForgotten(owner: $0) } ?? 0)
        let limit = try Limits.ofPage(request.resultsLimit, most: Limits.changesPerPage)
        let changes = try changes(position, limit: limit + 1, reader)
        let hasMore = changes.count > limit
        let page = changes.prefix(limit)
        let end = hasMore ? page.last?.sequence ?? position.start : position.end
        return DatabaseChangesResponse(
            zones: page.map(\.zone), syncToken: position.token(at: end, caller.tokenCodec), moreComing: hasMore,
            fetchEnd: position.fetchEnd(after: end, caller.tokenCodec))
    }

    private func runShared(_ reader: StorageReader) throws -> DatabaseChangesResponse {
        let account = try caller.requireAccount()
        let (zones, end) = try SharedDatabaseChanges(account: account, reader: reader).zones()
        let position = try FeedPosition(
            .database, token: request.syncToken, fetchEnd: request.fetchEnd, caller.tokenCodec,
            last: min(zones.last?.sequence ?? 0, end),
            forgotten: try reader.membershipsForgotten(account: account.id))
        let limit = try Limits.ofPage(request.resultsLimit, most: Limits.changesPerPage)
        let changes = zones.filter { zone in
            zone.sequence > position.start && zone.sequence <= position.end
                && !(zone.isDeleted && zone.sequence <= position.deletionsKnown)
        }
        let page = changes.prefix(limit)
        let hasMore = changes.count > limit
        let last = hasMore ? page.last?.sequence ?? position.start : position.end
        return DatabaseChangesResponse(
            zones: page.map { zone in
                ZoneDictionary(
                    zoneID: zone.zoneID, atomic: true, deleted: zone.isDeleted, deletionReason: zone.reason)
            }, syncToken: position.token(at: last, caller.tokenCodec), moreComing: hasMore,
            fetchEnd: position.fetchEnd(after: last, caller.tokenCodec))
    }

    private func changes(
        _ position: FeedPosition, limit: Int, _ reader: StorageReader
    ) throws -> [(sequence: Int64, zone: ZoneDictionary)] {
        guard let owner = caller.owner else { return [] }
        // The filter removes the default zone, which has no feed.
        let live = try reader.zones(owner: owner, changedAfter: position.start, limit: limit + 1)
            .filter { ZoneRules.hasChangeFeed($0.name) }.map { zone in
                (zone.changed, ZoneRegistry.dictionary(zone, for: caller))
            }
        // A reset of development deletes the default zone and recreates it at once, so the filter removes it here too.
        let deleted = try reader.deletedZones(
            owner: owner, after: max(position.start, position.deletionsKnown), limit: limit + 1
        ).filter { ZoneRules.hasChangeFeed($0.name) }.map { zone in
            var dictionary = ZoneRegistry.dictionary(zone, for: caller)
            dictionary.deleted = true
            dictionary.deletionReason = ZoneDeletion.reason(of: zone)
            return (zone.sequence, dictionary)
        }
        return Array((live + deleted).sorted { $0.0 < $1.0 }.prefix { $0.0 <= position.end }.prefix(limit))
    }
}
