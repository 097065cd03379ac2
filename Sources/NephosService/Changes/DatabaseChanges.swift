import NephosStorage
import NephosWire

/// `changes/database`: which zones changed or went away since a token.
struct FetchDatabaseChanges {
    let request: DatabaseChangesRequest
    let caller: Caller

    func run(_ reader: any StorageReader) throws -> DatabaseChangesResponse {
        let start = try position()
        guard let owner = caller.owner else { return answer([], start, more: false) }
        var changed: [(sequence: Int64, zone: ZoneDictionary)] = []
        for zone in try reader.zones(owner: owner) where ZoneRules.hasChangeFeed(zone.name) {
            let sequence = max(zone.sequence, try reader.lastSequence(zone: zone.key))
            if sequence > start { changed.append((sequence, ZoneRegistry.dictionary(zone, for: caller))) }
        }
        if start > 0 {
            let live = Set(changed.map(\.zone.zoneID.zoneName))
            for zone in try reader.deletedZones(owner: owner, after: start) where !live.contains(zone.name) {
                var dictionary = ZoneRegistry.dictionary(zone, for: caller)
                dictionary.deleted = true
                changed.append((zone.sequence, dictionary))
            }
        }
        changed.sort { $0.sequence < $1.sequence }
        let limit = max(1, min(request.resultsLimit ?? .max, Limits.changesPerPage))
        let page = changed.prefix(limit)
        return answer(page.map(\.zone), page.last?.sequence ?? start, more: changed.count > limit)
    }

    private func position() throws(ServiceError) -> Int64 {
        guard let token = request.syncToken else { return 0 }
        guard let known = ChangeToken(token, owner: caller.feedOwner), known.feed == .database else {
            throw .changeTokenExpired
        }
        return known.sequence
    }

    private func answer(_ zones: [ZoneDictionary], _ sequence: Int64, more: Bool) -> DatabaseChangesResponse {
        DatabaseChangesResponse(
            zones: zones, syncToken: ChangeToken(feed: .database, sequence: sequence).text(owner: caller.feedOwner),
            moreComing: more)
    }
}

extension Caller {
    /// What tells this caller's feeds from others': names are drawn at random.
    var feedOwner: String { "\(scope.rawValue) \(userRecordName ?? "")" }
}
