import NephosStorage

/// The cascade of a deletion. "Deleting the target (owner) record deletes all its source records. The deletion of any
/// owned records can trigger further deletions"; with several owners the deletion of any one is enough
/// (`CKRecord.Reference`, Apple's documentation). Depth, breadth and cycles do not matter: each record is deleted once.
struct CascadeDelete {
    /// The records that the deletion cascades to, in discovery order.
    private(set) var names: [String] = []
    /// For each cascaded record, one of its owners.
    private var owners: [String: String] = [:]

    /// The record deleted by name whose cascade includes `name`.
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
    ///   - deleted: the records deleted by name.
    ///   - sources: returns the records with a `deleteSelf` reference to each given record, in the order given.
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
