import NephosStorage

/// The chains of parents of a zone's records after a batch. Remembers what it reads, so that the children of one record
/// cost one walk of its chain.
final class ParentChains {
    /// How the chain of a record's ancestors ends.
    enum End {
        /// At a record without a parent, after as many ancestors.
        case root(ancestors: Int)
        /// At the record itself.
        case itself
        /// In a circle of other records.
        case circle
        /// Beyond `Limits.parentDepth`.
        case tooDeep
    }

    let stored: StoredParents
    /// The parents of the records that the batch saves, by record name; a nil parent is none.
    let saved: [String: String?]
    /// The numbers of ancestors of the records whose chains end at a root.
    private var depths: [String: Int] = [:]
    private var tooDeep: Set<String> = []
    /// The number of records that `ChainLength` may still examine level by level.
    var levelBudget = Limits.recordsBelowMove

    init(saved: [String: String?], _ stored: StoredParents) {
        self.saved = saved
        self.stored = stored
    }

    /// Walks the chain of a saved record.
    func end(of save: PlannedSave) throws -> End {
        var path: [String] = []
        var seen: Set<String> = []
        var above = 0
        var current = save.row.parent
        while let step = current {
            if step == save.row.name { return .itself }
            // A chain that ends at a root does not contain the record: it would be a circle.
            if let depth = depths[step] {
                above = depth + 1
                break
            }
            if !seen.insert(step).inserted { return .circle }
            path.append(step)
            if path.count > Limits.parentDepth || tooDeep.contains(step) { return noteTooDeep(path) }
            current = try saved[step] ?? stored.parent(of: step)
        }
        let count = path.count + above
        if count > Limits.parentDepth { return noteTooDeep(path) }
        for (index, step) in path.enumerated() { depths[step] = count - index - 1 }
        return .root(ancestors: count)
    }

    private func noteTooDeep(_ path: [String]) -> End {
        if let first = path.first { tooDeep.insert(first) }
        return .tooDeep
    }
}
