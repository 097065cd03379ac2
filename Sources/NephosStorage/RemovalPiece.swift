/// A piece of a removed container's stores and files. It names each store and file, so it removes nothing that is made after it
/// was found, such as a container of the same name.
package struct RemovalPiece: Sendable {
    private let body: @Sendable () throws -> Void

    package init(_ body: @escaping @Sendable () throws -> Void) { self.body = body }

    /// Blocks.
    /// - Throws: `StorageError` `.busy` while a backup or a write keeps the stores.
    package func remove() throws { try body() }

    /// A piece of the files in a container's directory, which other processes may use; nil if there are none.
    package static func files(of container: String, in path: String, limit: Int) throws -> RemovalPiece? {
        let original = "\(path)/\(container)"
        // Makes the files of the locks, which are found, too.
        _ = try RemovedFiles.lock(in: original)
        // The file of a lock and its directory are removed in one piece, as each piece makes it again.
        let limit = max(limit, 8)
        // Former versions renamed it.
        for directory in [RemovedDirectory.path(container, in: path), original] {
            let found = try RemovedFiles.find(in: directory, limit: limit)
            if found.isEmpty { continue }
            return RemovalPiece {
                let locks = try RemovedFiles.lock(in: original)
                try RemovedFiles.remove(found)
                withExtendedLifetime(locks) {}
            }
        }
        return nil
    }
}
