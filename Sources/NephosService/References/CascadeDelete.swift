import NephosStorage

/// Which records a deletion takes along. "Deleting the target (owner) record deletes all its source records. The deletion
/// of any owned records can trigger further deletions"; with several owners the deletion of any one is enough
/// (`CKRecord.Reference`, Apple's documentation). Depth, breadth and cycles do not matter: each record dies once.
struct CascadeDelete {
    /// The records that go along, in the order they are reached.
    private(set) var names: [String] = []
    /// For each of them, a record that it belongs to.
    private var owners: [String: String] = [:]

    /// The record that is deleted by name, and takes `name` along.
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
    ///   - deleted: the records that are deleted by name.
    ///   - sources: the records that hold a `deleteSelf` reference to each of the ones given, in their order.
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
