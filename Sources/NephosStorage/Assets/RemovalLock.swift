import Glibc

/// A lock file beside the assets' files: prevents their removal while a backup, also of another process, copies them
/// (flock(2)). Many may hold the files (shared), or one may remove some (exclusive). Released with the object or
/// process.
package final class RemovalLock: Sendable {
    package enum Purpose: Sendable {
        /// Keeps the files. Waits for a running removal.
        case hold
        /// Allows removal of files.
        case remove
    }

    static let name = "removal.lock"

    private let descriptor: Int32

    /// - Parameter directory: an existing directory.
    /// - Returns: nil for `remove` while the files are held.
    package init?(_ directory: String, _ purpose: Purpose) throws {
        let path = "\(directory)/\(Self.name)"
        descriptor = FileSystem.open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "opening \(path)") }
        let operation = purpose == .hold ? LOCK_SH : LOCK_EX | LOCK_NB
        while flock(descriptor, operation) != 0 {
            let code = errno
            if code == EINTR { continue }
            close(descriptor)
            if code == EWOULDBLOCK { return nil }
            throw StorageError(system: code, while: "locking \(path)")
        }
    }

    deinit { close(descriptor) }
}
