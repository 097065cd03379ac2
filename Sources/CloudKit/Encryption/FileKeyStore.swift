import Foundation

/// A directory of key files for this device, with one file per item. Only the user can read the files, and several
/// processes may share the directory.
package final class FileKeyStore: DeviceKeyStore {
    private let directory: String

    /// - Parameter directory: the path of the directory, which is created if it does not exist.
    init(directory: String) { self.directory = directory }

    /// The files in the directory that the process's environment names.
    package static var ofProcess: any DeviceKeyStore {
        FileKeyStore(directory: directory(ProcessInfo.processInfo.environment))
    }

    /// Returns the path of the key directory: `NEPHOS_KEYS`, or else `$XDG_DATA_HOME/nephos/keys`, or else the default
    /// directory of the XDG Base Directory Specification.
    static func directory(_ variables: [String: String]) -> String {
        if let directory = variables["NEPHOS_KEYS"], !directory.isEmpty { return directory }
        if let data = variables["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/nephos/keys" }
        return (variables["HOME"] ?? NSHomeDirectory()) + "/.local/share/nephos/keys"
    }

    func path(of item: String) -> String { "\(directory)/\(item)" }

    /// Reads the file, applies `body` and writes the result, under a lock that other processes respect.
    package func update(_ item: String, _ body: (inout Data?) -> Void) throws {
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

    /// Writes the file atomically: after a crash it has the old or the new content.
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
