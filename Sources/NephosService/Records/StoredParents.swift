import NephosStorage

/// The stored parents of a zone's records, and the subtrees below records that a batch moves. Each is read once, however
/// often the batch is decided.
final class StoredParents {
    /// The subtree below a record, with the records that the batch moves out of it.
    struct Subtree {
        /// The depth of the records that were examined.
        var depth: Int
        /// Whether all records were examined, within the batch's budget.
        var isWhole: Bool
    }

    let zone: ZoneKey
    let reader: StorageReader
    private var parents: [String: String?] = [:]
    private var subtrees: [String: Subtree] = [:]
    /// The number of records that may still be examined below moved records.
    private var budget = Limits.recordsBelowMove

    init(_ zone: ZoneKey, _ reader: StorageReader) {
        self.zone = zone
        self.reader = reader
    }

    /// The parent of a record before the batch; nil if it has none, or does not exist.
    func parent(of name: String) throws -> String? {
        if let known = parents[name] { return known }
        let parent = try reader.parent(zone: zone, ofRecord: name)
        parents[name] = .some(parent)
        return parent
    }

    func subtree(below name: String) throws -> Subtree {
        if let known = subtrees[name] { return known }
        let (depth, count) = try reader.extent(zone: zone, below: name, kind: .parent, limit: budget + 1)
        let subtree = Subtree(depth: depth, isWhole: count <= budget)
        budget = max(0, budget - count)
        subtrees[name] = subtree
        return subtree
    }
}
