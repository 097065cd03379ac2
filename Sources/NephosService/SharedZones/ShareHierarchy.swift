import NephosStorage
import NephosWire

/// The share of each record after a batch, derived from the records' parents, and the placements that the batch must
/// write.
final class ShareHierarchy {
    private let shares: ZoneShares
    private let stored: StoredParents
    private var zone: ZoneKey { stored.zone }
    private var reader: StorageReader { stored.reader }
    /// The saves of the batch by record name.
    private var saves: [String: PlannedSave] = [:]
    /// The names of the saved records by their parent.
    private var savedChildren: [String: [String]] = [:]
    private var deleted: Set<String>
    private var resolved: [String: Int64?] = [:]
    /// The new share of each record that the batch saves, and of the descendants of these records; nil for no share.
    private(set) var under: [String: Int64?] = [:]
    /// The names of records with too many descendants to place in the commit.
    private(set) var moves: [String] = []
    /// The number of records that this commit may still examine.
    private var room = Limits.sharedRecordsPerCommit
    private lazy var chains = ParentChains(saved: saves.mapValues(\.row.parent), stored)
    /// The ancestors after the batch of the zone's shared roots, each with one of the roots below it; nil if the zone has
    /// too many shares.
    private lazy var ancestorsOfRoots = Result { try findAncestorsOfRoots() }
    private lazy var hasMoves = Result { try ShareMove.isUnderWay(in: zone, reader) }

    init(_ shares: ZoneShares, _ stored: StoredParents, _ decisions: [ItemDecision], cascade: [String]) {
        self.shares = shares
        self.stored = stored
        deleted = Set(cascade)
        for decision in decisions {
            switch decision {
            case .save(let save):
                saves[save.row.name] = save
                if let parent = save.row.parent { savedChildren[parent, default: []].append(save.row.name) }
            case .delete(let row): deleted.insert(row.name)
            case .leave, .nothing, .refuse: break
            }
        }
    }

    func isSaved(_ name: String) -> Bool { saves[name] != nil }
    func isDeleted(_ name: String) -> Bool { deleted.contains(name) }
    var deletedNames: [String] { deleted.sorted() }

    /// The ID of a record's share after the batch; nil if the record is under no share.
    func share(over name: String) throws -> Int64? {
        var chain: [String] = []
        var seen: Set<String> = []
        var current: String? = name
        var found: Int64?
        while let step = current, seen.insert(step).inserted, chain.count <= Limits.parentDepth {
            if let known = resolved[step] {
                found = known
                break
            }
            chain.append(step)
            if let share = try shares.share(ofRoot: step) {
                found = share.id
                break
            }
            current = try parent(of: step)
        }
        // Moves may have lengthened the chain beyond the limit. Then the placement of the last examined ancestor
        // decides.
        if found == nil, chain.count > Limits.parentDepth, let last = chain.last { found = try placedUnder(last) }
        for step in chain { resolved[step] = .some(found) }
        return found
    }

    private func parent(of name: String) throws -> String? {
        if deleted.contains(name) { return nil }
        if let save = saves[name] { return save.row.parent }
        return try stored.parent(of: name)
    }

    /// The ID of the live share in which a record is placed; nil if it is in none.
    private func placedUnder(_ name: String) throws -> Int64? {
        guard let shared = try reader.sharedRecord(zone: zone, named: name), try shares.isLive(id: shared.share)
        else { return nil }
        return shared.share
    }

    // MARK: - Placement

    /// Places a saved record under its share, together with its descendants.
    /// - Throws: `alreadyShared` if a record would be under two shares.
    func place(_ save: PlannedSave) throws {
        let name = save.row.name
        if save.row.type == SystemRecordType.share {
            if let share = try shares.share(named: name), !share.isZoneWide { under[name] = .some(share.id) }
            return
        }
        let new = try share(over: name)
        let hasMoved = save.row.parent != save.stored?.parent
        var isNewRoot = false
        if let share = try shares.share(ofRoot: name) {
            isNewRoot = shares.new[share.name] != nil
            if isNewRoot || hasMoved, let parent = save.row.parent, let other = try self.share(over: parent),
                other != share.id
            {
                throw ServiceError.alreadyShared(name)
            }
        }
        let old = save.stored == nil ? nil : try placedUnder(name)
        under[name] = .some(new)
        guard save.stored != nil else { return }
        let isUnderWay = try hasMoves.get()
        // While a move is in progress, a record may already be placed at the destination while its descendants are not,
        // and the move no longer reaches them. So a moved record's descendants are moved here. The descendants of a
        // record that stays are left to the move.
        if hasMoved && isUnderWay || old != new && (hasMoved || isNewRoot || !isUnderWay) {
            try move(below: name, to: new)
        }
    }

    /// - Throws: `invalidArguments` if the save would make the record its own ancestor.
    func refuseCircle(_ save: PlannedSave) throws {
        guard save.row.parent != nil, save.row.parent != save.stored?.parent else { return }
        if let error = try ReferenceRules.circle(save, chains) { throw error }
    }

    /// Moves the descendants of a record: in the commit up to a bound, otherwise in a background job.
    private func move(below name: String, to share: Int64?) throws {
        var below: [String] = []
        var waiting = [name]
        while let parent = waiting.popLast() {
            guard let children = try children(of: parent) else {
                try refuseSharedBelow(name, share)
                return moves.append(name)
            }
            for child in children {
                if let own = try shares.share(ofRoot: child), own.id != share {
                    if share == nil { continue }
                    throw ServiceError.alreadyShared(child)
                }
                // Records that the batch saves are placed by their own saves.
                if under[child] != nil { continue }
                below.append(child)
                waiting.append(child)
            }
        }
        for child in below { under[child] = .some(share) }
    }

    /// The names of a record's children after the batch; nil if there are too many for the commit.
    private func children(of name: String) throws -> [String]? {
        var children: [String] = []
        var last: String?
        while true {
            let size = min(Limits.referencesPerRead, room + 1)
            let page = try reader.references(zone: zone, to: name, kinds: [.parent], after: last, limit: size)
            room -= page.count
            if room < 0 { return nil }
            children += page.map(\.source).filter { saves[$0] == nil && !deleted.contains($0) }
            guard page.count == size else { break }
            last = page.last?.source
        }
        return children + (savedChildren[name] ?? [])
    }

    /// Refuses to place a subtree under a share if the subtree contains the root of another share.
    private func refuseSharedBelow(_ name: String, _ share: Int64?) throws {
        guard share != nil else { return }
        guard let ancestors = try ancestorsOfRoots.get() else {
            throw ServiceError.limitExceeded(
                "a zone with more than \(Limits.sharesPerMove) shares moves at most \(Limits.sharedRecordsPerCommit) records"
                    + " under one of them at a time: move what is below '\(name)' first")
        }
        if let root = ancestors[name] { throw ServiceError.alreadyShared(root) }
    }

    /// Follows the parents of the zone's roots upwards, each ancestor once.
    private func findAncestorsOfRoots() throws -> [String: String]? {
        guard let roots = try shares.roots() else { return nil }
        var ancestors: [String: String] = [:]
        for root in roots {
            var current = try parent(of: root)
            while let step = current, ancestors[step] == nil {
                ancestors[step] = root
                current = try parent(of: step)
            }
        }
        return ancestors
    }
}

/// The shares of stored records, derived from their parents. They equal the placements in `shared_record` unless a move
/// is in progress.
struct StoredHierarchy {
    let zone: ZoneKey
    let reader: StorageReader

    /// The ID of the live share above a record; nil if there is none. This reads only edges and no records, because it
    /// is called while a record is visited.
    func share(over name: String) throws -> Int64? {
        if let share = try reader.share(zone: zone, named: name) { return share.id }
        var current: String? = name
        var depth = 0
        while let step = current, depth <= Limits.parentDepth {
            let edges = try reader.references(zone: zone, from: step)
            if edges.contains(where: { $0.kind == .share }), let share = try reader.lastShare(zone: zone, root: step),
                share.isLive
            {
                return share.id
            }
            current = edges.first { $0.kind == .parent }?.target
            depth += 1
        }
        return nil
    }

    /// The live share whose root is the record; nil if the record is no root of a live share.
    func share(ofRoot row: RecordRow) throws -> ShareRow? {
        // Only the root of a share refers to the share.
        guard row.share != nil, let share = try reader.lastShare(zone: zone, root: row.name) else { return nil }
        return share.isLive ? share : nil
    }

    func record(_ name: String) throws -> RecordRow? {
        guard let row = try reader.record(zone: zone, named: name), !row.isDeleted else { return nil }
        return row
    }
}
