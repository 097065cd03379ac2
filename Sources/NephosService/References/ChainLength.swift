import NephosStorage

/// Whether the chains of parents that end below a record stay within `Limits.parentDepth` where the record moves. Every
/// stored chain is, so no more has to be looked at than what a move makes longer.
struct ChainLength {
    let zone: ZoneKey
    /// The parents of what the batch saves.
    let parents: [String: String?]
    let reader: StorageReader

    /// - Parameter ancestors: how many the record has from now on.
    func error(moving save: PlannedSave, under ancestors: Int) throws -> ServiceError? {
        let name = save.row.name
        let room = Limits.parentDepth - ancestors
        if let depth = try depth(below: name) { return depth > room ? ParentRules.tooDeep : nil }
        if try ancestors <= storedAncestors(of: save) { return nil }
        // What the batch moves away from there counts as well: more than it moves is below.
        let limit = Limits.recordsBelowMove
        let (depth, count) = try reader.extent(zone: zone, below: name, kind: .parent, limit: limit + 1)
        if depth > room { return ParentRules.tooDeep }
        guard count > limit else { return nil }
        return .limitExceeded(
            "more than \(limit) records are below '\(name)': it can be moved only to where it has no more ancestors than it"
                + " has; move what is below it in parts")
    }

    /// How deep the subtree below a record is, level by level; nil where it is larger than a commit looks at.
    private func depth(below name: String) throws -> Int? {
        var level = [name]
        var depth = 0
        var room = Limits.sharedRecordsPerCommit
        while true {
            var next: [String] = []
            for parent in level {
                let children = try reader.references(
                    zone: zone, to: parent, kinds: [.parent], after: nil, limit: room + 1)
                room -= children.count
                if room < 0 { return nil }
                next += children.map(\.source).filter { stays($0, below: parent) }
            }
            if next.isEmpty { return depth }
            level = next
            depth += 1
        }
    }

    /// What the batch moves is looked at from there.
    private func stays(_ name: String, below parent: String) -> Bool {
        guard let saved = parents[name] else { return true }
        return saved == parent
    }

    private func storedAncestors(of save: PlannedSave) throws -> Int {
        var count = 0
        var current = save.stored?.parent
        while let step = current, count <= Limits.parentDepth {
            count += 1
            current = try reader.record(zone: zone, named: step)?.parent
        }
        return count
    }
}
