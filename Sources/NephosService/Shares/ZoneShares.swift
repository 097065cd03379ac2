import NephosStorage
import NephosWire

/// The live shares of a zone as they are after a batch: one of the whole zone, or any number of hierarchies.
final class ZoneShares {
    let zone: ZoneKey
    private let reader: StorageReader
    /// The known shares by the names of their root records.
    private var byRoot: [String: ShareRow] = [:]
    /// The known shares by the names of their share records.
    private var byRecord: [String: ShareRow] = [:]
    private var live: Set<Int64> = []
    /// Whether the zone has more shares than were read. Each of the others is looked up when it is needed.
    private var hasMore = false
    /// The shares that are stored, up to one more than `Limits.sharesPerMove`.
    private lazy var stored = Result { try reader.shares(zone: zone, limit: Limits.sharesPerMove + 1) }
    private(set) var zoneWide: ShareRow?
    /// The shares that the batch creates, by name. Each has the index of its operation.
    private(set) var new: [String: (operation: Int, share: ShareRow)] = [:]
    /// The live shares whose record or root the batch deletes. The deletion ends the share.
    private(set) var ended: [ShareRow] = []

    /// The maximum number of shares per zone that are read at once.
    static let sharesRead = 200

    init(_ zone: ZoneKey, _ reader: StorageReader) throws {
        self.zone = zone
        self.reader = reader
        let shares = try reader.shares(zone: zone, limit: Self.sharesRead)
        hasMore = shares.count == Self.sharesRead
        for share in shares { note(share) }
    }

    var isEmpty: Bool { byRecord.isEmpty }

    // MARK: The kinds of shares

    func checkTakesZoneWideShare(_ zone: String) throws(ServiceError) {
        if byRoot.isEmpty { return }
        throw .invalid("the zone '\(zone)' holds shares of hierarchies; end them first")
    }

    func checkTakesHierarchy(_ zone: String) throws(ServiceError) {
        if zoneWide == nil { return }
        throw ServiceError(.badRequest, .serverRejectedRequest, "the zone '\(zone)' is shared as a whole already")
    }

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

    /// The name of the share record of a share; nil if the share is unknown.
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

    /// The names of the roots of all live shares, without a zone-wide share.
    /// - Returns: nil if there are more than `Limits.sharesPerMove` live shares.
    func roots() throws -> [String]? {
        var shares = byRoot.values.filter { live.contains($0.id) }
        if hasMore {
            shares += try stored.get().filter { byRecord[$0.name] == nil && isLive($0) }
        }
        return shares.count > Limits.sharesPerMove ? nil : shares.filter { !$0.isZoneWide }.map(\.root)
    }

    // MARK: The batch's changes

    private func note(_ share: ShareRow) {
        live.insert(share.id)
        byRecord[share.name] = share
        if share.isZoneWide { zoneWide = share } else { byRoot[share.root] = share }
    }

    func add(_ share: ShareRow, by operation: Int) {
        note(share)
        new[share.name] = (operation, share)
    }

    /// Removes a new share, because the batch does not create it after all.
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

    /// Marks all ended shares as live again, before the batch decides anew which shares it ends.
    func reviveEnded() {
        for share in ended { note(share) }
        ended = []
    }
}
