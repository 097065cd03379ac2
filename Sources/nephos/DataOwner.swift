import Glibc
import NephosStorage

/// The user to whom a data directory belongs. Files that root made there would keep the server from starting.
enum DataOwner {
    /// The user who started the process, whom the audit names.
    static let caller = geteuid()

    /// Makes this process one of the directory's owner, if it is root's and the directory is not. Root may read files
    /// that the server's user may not.
    /// - Returns: the user's name, or number where the system has no name; nil if the process stays what it is.
    @discardableResult
    static func become(ofData directory: String) throws(UsageError) -> String? {
        var status = stat()
        guard caller == 0, geteuid() == 0, stat(directory, &status) == 0, status.st_uid != 0 else { return nil }
        let entry = getpwuid(status.st_uid)
        let group = entry?.pointee.pw_gid ?? status.st_gid
        let name = entry?.pointee.pw_name
        let text = name.map { String(cString: $0) } ?? "\(status.st_uid)"
        let hasGroups = (name.map { initgroups($0, group) } ?? setgroups(0, nil)) == 0
        guard hasGroups, setgid(group) == 0, setuid(status.st_uid) == 0 else {
            throw UsageError(
                "this cannot run as \(text), to whom \(directory) belongs: \(String(cString: strerror(errno))).")
        }
        return text
    }

    /// Refuses to write as root in a directory of another user, for a command that also writes files of the caller's.
    static func checkIsOwner(ofData directory: String, for command: String) {
        var status = stat()
        guard caller == 0, stat(directory, &status) == 0, status.st_uid != 0 else { return }
        let user = getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) } ?? "#\(status.st_uid)"
        Console.fail(
            "\(directory) belongs to \(user), whose server could not use what root makes there: run this as that user "
                + "(sudo -u \(user) nephos \(command) …).")
    }

    /// Refuses to make a data directory as root, whose directory a server of another user could not use.
    static func checkExists(_ directory: String, for command: String) {
        guard caller == 0, !FileSystem.exists(directory) else { return }
        Console.fail(
            "there is no directory \(directory), and one that root makes is no other user's: a server of that user could not "
                + "start. Make it for that user before (install -d -m 700 -o nephos \(directory)), or run this as that user "
                + "(sudo -u nephos nephos \(command) …).")
    }
}
