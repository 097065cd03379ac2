import NephosStorage
import NephosWire

/// The live shares of a zone after a batch.
final class ZoneShares {
    let zone: ZoneKey
    private let reader: StorageReader
    /// By the names of their roots.
    private var byRoot: [String: ShareRow] = [:]
    /// By the names of their records.
    private var byRecord: [String: ShareRow] = [:]
    private var live: Set<Int64> = []
    /// Whether the zone has more shares than were read: each of the others is looked up on demand.
    private var hasMore = false
    private(set) var zoneWide: ShareRow?
    /// The batch's new shares by name, each with the index of its operation.
    private(set) var new: [String: (operation: Int, share: ShareRow)] = [:]
    /// The shares that end with the batch.
    private(set) var ended: [ShareRow] = []

    /// The maximum number of shares read at once.
    static let sharesRead = 200

    init(_ zone: ZoneKey, _ reader: StorageReader) throws {
        self.zone = zone
        self.reader = reader
        let shares = try reader.shares(zone: zone, limit: Self.sharesRead)
        hasMore = shares.count == Self.sharesRead
        for share in shares { note(share) }
    }

    var isEmpty: Bool { byRecord.isEmpty }
    var hasHierarchies: Bool { !byRoot.isEmpty }

    // MARK: Lookups

    func share(ofRoot name: String) throws -> ShareRow? {
        if let known = byRoot[name] { return live.contains(known.id) ? known : nil }
        guard hasMore, let share = try reader.lastShare(zone: zone, root: name) else { return nil }
        return isLive(share) ? share : nil
    }

    func share(named name: String) throws -> ShareRow? {
        if let known = byRecord[name] { return live.contains(known.id) ? known : nil }
        return hasMore ? try reader.share(zone: zone, named: name) : nil
    }

    /// The name of a share's record.
    func name(of id: Int64) throws -> String? {
        if let known = byRecord.values.first(where: { $0.id == id }) { return known.name }
        return hasMore ? try reader.share(id: id)?.name : nil
    }

    func isLive(id: Int64) throws -> Bool {
        if live.contains(id) { return true }
        guard hasMore, let share = try reader.share(id: id) else { return false }
        return isLive(share)
    }

    private func isLive(_ share: ShareRow) -> Bool { share.isLive && !ended.contains { $0.id == share.id } }

    /// The roots of the live shares of hierarchies.
    /// - Returns: nil if there are more than `limit`.
    func roots(limit: Int) throws -> [String]? {
        var shares = byRoot.values.filter { live.contains($0.id) }
        if hasMore {
            let stored = try reader.shares(zone: zone, limit: limit + 1)
            shares += stored.filter { byRecord[$0.name] == nil && isLive($0) }
        }
        return shares.count > limit ? nil : shares.filter { !$0.isZoneWide }.map(\.root)
    }

    // MARK: What the batch does

    private func note(_ share: ShareRow) {
        live.insert(share.id)
        byRecord[share.name] = share
        if share.isZoneWide { zoneWide = share } else { byRoot[share.root] = share }
    }

    func add(_ share: ShareRow, by operation: Int) {
        note(share)
        new[share.name] = (operation, share)
    }

    /// Removes a new share that the batch does not make after all.
    func remove(new share: ShareRow) {
        live.remove(share.id)
        byRoot[share.root] = nil
        byRecord[share.name] = nil
        if share.isZoneWide { zoneWide = nil }
        new[share.name] = nil
    }

    func end(_ share: ShareRow) {
        ended.append(share)
        live.remove(share.id)
    }

    /// Marks all ended shares as live, before the batch decides again which end.
    func reviveEnded() {
        for share in ended { note(share) }
        ended = []
    }
}
