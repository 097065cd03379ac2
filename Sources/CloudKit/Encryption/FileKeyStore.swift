import Foundation

/// The files in which a device keeps its keys: each item is one, which its user alone can read. Several processes may use them at
/// a time.
final class FileKeyStore: DeviceKeyStore {
    private let directory: String

    /// - Parameter directory: where the files are; it is made if there is none.
    init(directory: String) { self.directory = directory }

    /// Where key files are, unless `NEPHOS_KEYS` names another directory: `$XDG_DATA_HOME/nephos/keys`, or that of the XDG
    /// Base Directory Specification's default.
    static func directory(_ variables: [String: String]) -> String {
        if let directory = variables["NEPHOS_KEYS"], !directory.isEmpty { return directory }
        if let data = variables["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/nephos/keys" }
        return (variables["HOME"] ?? NSHomeDirectory()) + "/.local/share/nephos/keys"
    }

    func path(of item: String) -> String { "\(directory)/\(item)" }

    /// Reads the file and writes what `body` makes of it, while no other process does.
    func update(_ item: String, _ body: (inout Data?) -> Void) throws {
        try make()
        let file = path(of: item)
        let lock = open(file + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw failure(file, "locked") }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure(file, "locked") }
        }
        let old = try read(file)
        var data = old
        body(&data)
        if let data, data != old { try write(data, to: file) }
    }

    private func make() throws(KeptKeys.Failure) {
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw KeptKeys.Failure(description: "The directory of keys \(directory) cannot be made: \(error)")
        }
    }

    private func read(_ path: String) throws(KeptKeys.Failure) -> Data? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw failure(path, "read")
        }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failure(path, "read") }
        guard status.st_mode & 0o077 == 0 else {
            throw KeptKeys.Failure(
                description: "The keys in \(path) can be read by others: chmod 600, or begin anew")
        }
        guard let data = try? handle.readToEnd() ?? Data() else { throw failure(path, "read") }
        return data
    }

    /// A crash leaves the file as it was, or as it is to be.
    private func write(_ data: Data, to path: String) throws(KeptKeys.Failure) {
        let temporary = path + ".new"
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(path, "written") }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        guard (try? handle.write(contentsOf: data)) != nil, fsync(file) == 0, rename(temporary, path) == 0 else {
            throw failure(path, "written")
        }
    }

    private func failure(_ path: String, _ what: String) -> KeptKeys.Failure {
        KeptKeys.Failure(
            description: "The keys in \(path) cannot be \(what): \(String(cString: strerror(errno)))")
    }
}
