import Glibc

/// The files of a container that is being removed.
package enum RemovedFiles {
    /// Finds files and directories in a directory, which is the last of them: each directory follows what it contains.
    /// - Parameter limit: the maximum number of entries.
    /// - Returns: their paths; empty if there is no such directory.
    package static func find(in directory: String, limit: Int) throws -> [String] {
        var found: [String] = []
        // It may be a link to a directory elsewhere.
        if FileSystem.isDirectory(directory) { try find(directory, limit, &found) }
        return found
    }

    private static func find(_ directory: String, _ limit: Int, _ found: inout [String]) throws {
        for name in try FileSystem.names(in: directory, isAll: true) where found.count < limit {
            let path = "\(directory)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                try find(path, limit, &found)
            } else {
                found.append(path)
            }
        }
        if found.count < limit { found.append(directory) }
    }

    /// Removes files, and directories that are empty.
    /// - Throws: `StorageError` if none of them can be removed: a search would find them again and again.
    package static func remove(_ paths: [String]) throws {
        var isStuck = true
        for path in paths {
            // Not truncated: a backup may be reading it.
            if unlink(path) == 0 || errno == ENOENT {
                isStuck = false
                continue
            }
            guard errno == EISDIR || errno == EPERM else { throw failure(path) }
            // Not empty: a late upload, or a new container of the name, uses the directory.
            if rmdir(path) == 0 || errno == ENOENT {
                isStuck = false
            } else if errno != ENOTEMPTY && errno != EEXIST {
                throw failure(path)
            }
        }
        if isStuck, let path = paths.first { throw StorageError(system: ENOTEMPTY, while: "deleting \(path)") }
    }

    private static func failure(_ path: String) -> StorageError {
        StorageError(system: errno, while: "deleting \(path)")
    }

    /// Locks the directories in a container's directory.
    /// - Throws: `StorageError` `.busy` while a backup holds the files of one.
    package static func lock(in directory: String) throws -> [RemovalLock] {
        try FileSystem.names(in: directory).map { "\(directory)/\($0)" }.filter(FileSystem.isDirectory).map {
            guard let lock = try RemovalLock($0, .remove) else {
                throw StorageError(.busy, "a backup copies the files in \($0)")
            }
            return lock
        }
    }
}
