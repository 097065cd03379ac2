import Glibc

/// A container's directory that one process has and removes in pieces. It gets a name that is no container's first: a process
/// that is killed meanwhile leaves no part of a store.
package struct RemovedDirectory {
    private let original: String
    private let renamed: String

    /// - Parameter path: the directory that contains it.
    package init(_ name: String, in path: String) {
        original = "\(path)/\(name)"
        renamed = Self.path(name, in: path)
    }

    /// The path of a directory whose removal has begun.
    package static func path(_ name: String, in path: String) -> String { "\(path)/.removed-\(name)" }

    package var exists: Bool { FileSystem.isDirectory(original) || FileSystem.isDirectory(renamed) }

    /// Removes up to `limit` files and directories of the renamed directory. A late upload may make the original one again, which is
    /// then renamed for a later piece.
    package func removePiece(limit: Int) throws {
        try RemovedFiles.remove(RemovedFiles.find(in: renamed, limit: limit))
        if !FileSystem.isDirectory(renamed) { try FileSystem.synchronizeParent(of: renamed) }
    }

    /// Renames the directory. Does nothing if that was done, or if there is none.
    /// - Throws: `StorageError` `.busy` while a backup holds the files of a store in it.
    package func rename() throws {
        guard FileSystem.isDirectory(original), !FileSystem.isDirectory(renamed) else { return }
        let locks = try RemovedFiles.lock(in: original)
        guard Glibc.rename(original, renamed) == 0 else {
            throw StorageError(system: errno, while: "renaming \(original)")
        }
        withExtendedLifetime(locks) {}
        try FileSystem.synchronizeParent(of: renamed)
    }
}
