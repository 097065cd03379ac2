import Glibc

/// Files with secrets, which other users of the machine should not read.
enum SecretFile {
    /// The settings of a production server that name such files.
    static let options = ["--tls-key", "--mail-password-file", "--apns-key", "--web-hook-secret"]

    /// What is wrong with the mode of a file; nil if other users may not read it, or there is none.
    static func problem(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IROTH != 0, isReached(path) else { return nil }
        return "other users of this machine may read the secret in \(path): chmod o-r"
    }

    /// Whether other users may pass the directories on the way to a file.
    private static func isReached(_ path: String) -> Bool {
        guard let resolved = realpath(path, nil) else { return false }
        defer { free(resolved) }
        var directory = String(cString: resolved)[...]
        while let slash = directory.lastIndex(of: "/") {
            directory = directory[..<slash]
            var status = stat()
            guard stat(directory.isEmpty ? "/" : String(directory), &status) == 0, status.st_mode & S_IXOTH != 0
            else { return false }
        }
        return true
    }
}
