import Glibc

/// A container's directory that is removed in pieces. It gets a name that is no container's first: a process that is killed
/// meanwhile leaves no part of a store.
package struct RemovedDirectory {
    private let original: String
    private let renamed: String

    /// - Parameter path: the directory that contains it.
    package init(_ name: String, in path: String) {
        original = "\(path)/\(name)"
        renamed = "\(path)/.removed-\(name)"
    }

    /// Renames the directory. Does nothing if that was done, or if there is none.
    /// - Throws: `StorageError` `.busy` while a backup holds the files of a store in it.
    package func begin() throws {
        guard FileSystem.isDirectory(original), !FileSystem.exists(renamed) else { return }
        let locks = try FileSystem.names(in: original).map { "\(original)/\($0)" }.filter(FileSystem.isDirectory).map {
            guard let lock = try RemovalLock($0, .remove) else {
                throw StorageError(.busy, "a backup copies the files in \($0)")
            }
            return lock
        }
        guard rename(original, renamed) == 0 else {
            throw StorageError(system: errno, while: "renaming \(original)")
        }
        withExtendedLifetime(locks) {}
        try FileSystem.synchronizeParent(of: renamed)
    }

    /// Removes up to about `limit` files and directories, also of a directory that a late upload made under the original name.
    /// Nothing is removed under that name: a container made anew may have it.
    /// - Returns: whether something is left.
    package func removePiece(limit: Int) throws -> Bool {
        try begin()
        guard FileSystem.exists(renamed) else { return false }
        var left = limit
        if try Self.remove(renamed, &left) { return true }
        try FileSystem.synchronizeParent(of: renamed)
        return FileSystem.isDirectory(original)
    }

    /// - Parameter left: the number of files and directories that may still be removed.
    /// - Returns: whether something is left.
    private static func remove(_ directory: String, _ left: inout Int) throws -> Bool {
        for name in try FileSystem.names(in: directory, isAll: true) {
            let path = "\(directory)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            guard left > 0 else { return true }
            if status.st_mode & S_IFMT == S_IFDIR {
                if try remove(path, &left) { return true }
                continue
            }
            left -= 1
            // Not truncated: a backup may be reading it.
            guard unlink(path) == 0 || errno == ENOENT else { throw failure(path) }
        }
        left -= 1
        // A directory may be a link to one elsewhere.
        guard rmdir(directory) == 0 || errno == ENOTDIR && unlink(directory) == 0 || errno == ENOENT else {
            throw failure(directory)
        }
        return false
    }

    private static func failure(_ path: String) -> StorageError {
        StorageError(system: errno, while: "deleting \(path)")
    }
}
