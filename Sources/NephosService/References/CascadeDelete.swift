import NephosStorage

/// Which records a deletion takes along. "Deleting the target (owner) record deletes all its source records. The deletion
/// of any owned records can trigger further deletions"; with several owners the deletion of any one is enough
/// (`CKRecord.Reference`, Apple's documentation). Depth, breadth and cycles do not matter: each record dies once.
enum CascadeDelete {
    /// - Parameters:
    ///   - deleted: the records that are deleted by name.
    ///   - sources: the records that hold a `deleteSelf` reference to the one given.
    /// - Returns: the records that go with them, in the order they are reached.
    static func plan(
        deleting deleted: [String], sources: (String) throws -> Set<String>
    ) rethrows -> [String] {
        var dead = Set(deleted)
        var taken: [String] = []
        var waiting = deleted[...]
        while let target = waiting.popFirst() {
            for source in try sources(target).sorted() where dead.insert(source).inserted {
                taken.append(source)
                waiting.append(source)
            }
        }
        return taken
    }
}
