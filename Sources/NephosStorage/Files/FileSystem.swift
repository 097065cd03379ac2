package import Glibc

/// The system calls for data directories and asset files.
package enum FileSystem {
    /// Creates the directory and its missing ancestors. Only the owner has access to them, and each entry is durable.
    /// - Parameter isOwners: whether root gives each of them to the owner of the directory that contains it.
    package static func makeDirectory(_ path: String, isOwners: Bool = false) throws {
        if isDirectory(path) { return }
        let parent = parent(of: path)
        if parent != path { try makeDirectory(parent, isOwners: isOwners) }
        guard mkdir(path, 0o700) == 0 else {
            let code = errno
            if code == EEXIST && isDirectory(path) { return }
            if code == EEXIST { throw StorageError(.inputOutput, "\(path) is a file, not a directory.") }
            throw StorageError(system: code, while: "making the directory \(path)")
        }
        if isOwners, geteuid() == 0 {
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { throw StorageError(system: errno, while: "opening \(path)") }
            try giveToOwner(of: parent, descriptor, path)
            close(descriptor)
        }
        try synchronize(directory: parent)
    }

    /// Gives a file that root has open to the owner of its directory. Another process does nothing.
    ///
    /// The owner may have linked another's file there, so a file with several names is refused, and callers open with
    /// `O_NOFOLLOW`.
    /// - Parameter descriptor: the open file, which is closed if this fails.
    package static func giveToOwner(of directory: String, _ descriptor: Int32, _ path: String) throws {
        guard geteuid() == 0 else { return }
        var (owner, file) = (stat(), stat())
        guard stat(directory, &owner) == 0, fstat(descriptor, &file) == 0 else {
            let code = errno
            close(descriptor)
            throw StorageError(system: code, while: "reading the owner of \(path)")
        }
        if file.st_uid == owner.st_uid { return }
        guard file.st_mode & S_IFMT == S_IFDIR || file.st_nlink == 1 else {
            close(descriptor)
            throw StorageError(
                .inputOutput, "\(path) is another user's file with other names (hard links): remove this one.")
        }
        guard fchown(descriptor, owner.st_uid, owner.st_gid) == 0 else {
            let code = errno
            close(descriptor)
            throw StorageError(system: code, while: "giving \(path) to the owner of \(directory)")
        }
    }

    /// The system call `open(2)`. Returns a descriptor, or -1 with the reason in `errno`.
    package static func open(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
        Glibc.open(path, flags, mode)
    }

    package static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    package static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The size of a file in bytes; 0 if the file does not exist.
    package static func size(_ path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The names in a directory, in byte order; empty if the directory does not exist.
    /// - Parameter isAll: whether names that start with a dot are included.
    package static func names(in path: String, isAll: Bool = false) throws -> [String] {
        guard let directory = opendir(path) else {
            if errno == ENOENT { return [] }
            throw StorageError(system: errno, while: "listing \(path)")
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: Int(entry.pointee.d_reclen)) { String(cString: $0) }
            }
            if isAll ? name != "." && name != ".." : !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Removes a directory with its content, best effort.
    package static func removeAll(_ path: String) {
        for name in (try? names(in: path)) ?? [] {
            let entry = "\(path)/\(name)"
            if isDirectory(entry) { removeAll(entry) } else { unlink(entry) }
        }
        rmdir(path)
    }

    /// Writes a small file of mode 0600, durably: whole or not at all. As root's it is the owner's of its directory.
    package static func write(_ text: String, to path: String) throws {
        let draft = path + ".new"
        if exists(draft), unlink(draft) != 0 { throw StorageError(system: errno, while: "removing \(draft)") }
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StorageError(system: errno, while: "making \(draft)") }
        try giveToOwner(of: parent(of: path), file, draft)
        defer { close(file) }
        let bytes = Array(text.utf8)
        guard Glibc.write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0, rename(draft, path) == 0 else {
            throw StorageError(system: errno, while: "writing \(path)")
        }
        try synchronizeParent(of: path)
    }

    /// Makes the content of a file durable.
    package static func synchronize(file path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "opening \(path)") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw StorageError(system: errno, while: "synchronizing \(path)") }
    }

    /// Makes the entries of a directory durable.
    package static func synchronize(directory path: String) throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "opening \(path)") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw StorageError(system: errno, while: "synchronizing \(path)") }
    }

    /// Makes the entry of `path` in its directory durable.
    package static func synchronizeParent(of path: String) throws {
        try synchronize(directory: parent(of: path))
    }

    package static func parent(of path: String) -> String {
        var end = path.endIndex
        while end > path.startIndex, path[path.index(before: end)] == "/" { end = path.index(before: end) }
        guard let slash = path[..<end].lastIndex(of: "/") else { return end == path.startIndex ? path : "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
