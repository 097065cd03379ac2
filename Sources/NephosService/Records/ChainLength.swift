import NephosStorage

/// Checks that the parent chains below a moved record stay within `Limits.parentDepth`. Every stored chain is within
/// the limit, so only chains that the move lengthens are checked.
struct ChainLength {
    let chains: ParentChains
    private var stored: StoredParents { chains.stored }

    /// - Parameter ancestors: the number of the record's ancestors after the move.
    func error(moving save: PlannedSave, under ancestors: Int) throws -> ServiceError? {
        let name = save.row.name
        let room = Limits.parentDepth - ancestors
        if try ancestors <= storedAncestors(of: save) { return nil }
        let below = try stored.subtree(below: name)
        if below.isWhole, below.depth <= room { return nil }
        // Without the records that the batch moves out of the subtree, the chains may be shorter.
        if let depth = try depth(below: name) { return depth > room ? ReferenceRules.tooDeep : nil }
        if below.depth > room { return ReferenceRules.tooDeep }
        return .limitExceeded(
            "more than \(Limits.recordsBelowMove) records are below '\(name)' and the others that the request moves: it can be"
                + " moved only to where it has no more ancestors than it has; send fewer moves at a time, or move what is"
                + " below it in parts")
    }

    /// The depth of the subtree below a record, found level by level; nil if the subtree has more than
    /// `Limits.sharedRecordsPerCommit` records, or the batch has used up its budget.
    private func depth(below name: String) throws -> Int? {
        var level = [name]
        var depth = 0
        var room = min(Limits.sharedRecordsPerCommit, chains.levelBudget)
        while true {
            var next: [String] = []
            for parent in level {
                let children = try stored.reader.references(
                    zone: stored.zone, to: parent, kinds: [.parent], after: nil, limit: room + 1)
                room -= children.count
                chains.levelBudget = max(0, chains.levelBudget - children.count)
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
            current = try stored.parent(of: step)
        }
        return count
    }
}
