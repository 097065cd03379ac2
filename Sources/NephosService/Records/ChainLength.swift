import NephosStorage

/// Checks that the parent chains below a moved record stay within `Limits.parentDepth`. Every stored chain is within
/// the limit, so only chains that the move lengthens are checked.
struct ChainLength {
    let chains: ParentChains
    private var zone: ZoneKey { chains.zone }
    private var reader: StorageReader { chains.reader }

    /// - Parameter ancestors: the number of the record's ancestors after the move.
    func error(moving save: PlannedSave, under ancestors: Int) throws -> ServiceError? {
        let name = save.row.name
        let room = Limits.parentDepth - ancestors
        if let depth = try depth(below: name) { return depth > room ? ReferenceRules.tooDeep : nil }
        if try ancestors <= storedAncestors(of: save) { return nil }
        // The count includes records that the batch moves out of the subtree, so it is an upper bound.
        let limit = Limits.recordsBelowMove
        let (depth, count) = try reader.extent(zone: zone, below: name, kind: .parent, limit: limit + 1)
        if depth > room { return ReferenceRules.tooDeep }
        guard count > limit else { return nil }
        return .limitExceeded(
            "more than \(limit) records are below '\(name)': it can be moved only to where it has no more ancestors than it"
                + " has; move what is below it in parts")
    }

    /// The depth of the subtree below a record, found level by level; nil if the subtree has more than
    /// `Limits.sharedRecordsPerCommit` records.
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

    /// Whether a record stays below `parent`. A record that the batch moves away is checked at its own position.
    private func stays(_ name: String, below parent: String) -> Bool {
        guard let saved = chains.saved[name] else { return true }
        return saved == parent
    }

    private func storedAncestors(of save: PlannedSave) throws -> Int {
        var count = 0
        var current = save.stored?.parent
        while let step = current, count <= Limits.parentDepth {
            count += 1
            current = try chains.storedParent(of: step)
        }
        return count
    }
}
