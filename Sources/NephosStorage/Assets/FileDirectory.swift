import Glibc

/// The few system calls that files of assets need.
enum FileDirectory {
    /// Makes the directory and those above it, for their owner alone, each entry durable.
    static func make(_ path: String) throws {
        if isDirectory(path) { return }
        let parent = parent(of: path)
        if parent != path { try make(parent) }
        guard mkdir(path, 0o700) == 0 || (errno == EEXIST && isDirectory(path)) else {
            throw StorageError(system: errno, while: "making the directory \(path)")
        }
        try synchronize(parent)
    }

    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// `open(2)`.
    static func open(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 { Glibc.open(path, flags, mode) }

    /// Makes the entries of a directory durable.
    static func synchronize(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "opening \(path)") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw StorageError(system: errno, while: "synchronizing \(path)") }
    }

    /// The names in a directory in the order of their bytes; none where there is no such directory.
    static func names(in path: String) throws -> [String] {
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
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Removes a directory with all that is in it, as far as that is possible.
    static func removeAll(_ path: String) {
        for name in (try? names(in: path)) ?? [] {
            let entry = "\(path)/\(name)"
            if isDirectory(entry) { removeAll(entry) } else { unlink(entry) }
        }
        rmdir(path)
    }

    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
