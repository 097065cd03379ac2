import NephosStorage

/// Which records a deletion takes along. "Deleting the target (owner) record deletes all its source records. The deletion
/// of any owned records can trigger further deletions"; with several owners the deletion of any one is enough
/// (`CKRecord.Reference`, Apple's documentation). Depth, breadth and cycles do not matter: each record dies once.
enum CascadeDelete {
    /// - Parameters:
    ///   - deleted: the records that are deleted by name.
    ///   - sources: the records that hold a `deleteSelf` reference to each of the ones given, in their order.
    /// - Returns: the records that go with them, in the order they are reached.
    static func plan(
        deleting deleted: [String], sources: ([String]) throws -> [Set<String>]
    ) rethrows -> [String] {
        var dead = Set(deleted)
        var taken: [String] = []
        var wave = deleted
        while !wave.isEmpty {
            wave = try sources(wave).flatMap { $0.sorted() }.filter { dead.insert($0).inserted }
            taken += wave
        }
        return taken
    }
}
