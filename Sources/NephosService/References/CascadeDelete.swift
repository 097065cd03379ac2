import NephosStorage

/// The cascade of a deletion. "Deleting the target (owner) record deletes all its source records. The deletion of any
/// owned records can trigger further deletions". If a record has several owners, the deletion of any one is enough
/// (`CKRecord.Reference`, Apple's documentation). Each record is deleted once, regardless of depth, breadth and cycles.
struct CascadeDelete {
    /// The names of the records to which the deletion cascades, in the order of their discovery.
    private(set) var names: [String] = []
    /// One of the owners of each cascaded record, by the cascaded record's name.
    private var owners: [String: String] = [:]

    /// The name of the explicitly deleted record whose cascade includes `name`; nil if `name` is not in the cascade.
    func origin(of name: String) -> String? {
        var origin: String?
        var step = name
        while let owner = owners[step] {
            origin = owner
            step = owner
        }
        return origin
    }

    /// - Parameters:
    ///   - deleted: the names of the records that are deleted explicitly.
    ///   - sources: returns, for each given record in order, the records that refer to it with `deleteSelf`.
    static func plan(
        deleting deleted: [String], sources: ([String]) throws -> [Set<String>]
    ) rethrows -> CascadeDelete {
        var plan = CascadeDelete()
        let named = Set(deleted)
        var wave = deleted
        while !wave.isEmpty {
            var next: [String] = []
            for (owner, owned) in zip(wave, try sources(wave)) {
                for name in owned.sorted() where !named.contains(name) && plan.owners[name] == nil {
                    plan.owners[name] = owner
                    next.append(name)
                }
            }
            plan.names += next
            wave = next
        }
        return plan
    }
}
