import Glibc

/// A lock file beside the asset files, which prevents their removal while a backup copies them, even a backup by
/// another process (flock(2)). Any number of holders may prevent removal (a shared lock), or one holder may remove
/// files (an exclusive lock). The lock is released with the object, or when the process ends.
package final class RemovalLock: Sendable {
    package enum Purpose: Sendable {
        /// Prevents removal. Waits until a running removal is over.
        case hold
        /// Allows the holder to remove files.
        case remove
    }

    static let name = "removal.lock"

    /// -1 for none: on a read-only file system without the file.
    private let descriptor: Int32

    /// - Parameter directory: an existing directory.
    /// - Returns: nil for the purpose `remove` while another holder prevents removal.
    package init?(_ directory: String, _ purpose: Purpose) throws {
        let path = "\(directory)/\(Self.name)"
        // `deinit` runs as soon as the property is set, even if the initializer fails, and would close a second time.
        var descriptor = FileSystem.open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if descriptor >= 0 {
            // A server of another user could not open root's file, and would delete nothing.
            try FileSystem.giveToOwner(of: directory, descriptor, path)
        } else if errno == EROFS, purpose == .hold {
            // A lock needs no more than reading. Without the file there is none: no process removes files here.
            descriptor = FileSystem.open(path, O_RDONLY | O_CLOEXEC)
            if descriptor < 0, errno == ENOENT {
                self.descriptor = -1
                return
            }
        }
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "opening \(path)") }
        let operation = purpose == .hold ? LOCK_SH : LOCK_EX | LOCK_NB
        while flock(descriptor, operation) != 0 {
            let code = errno
            if code == EINTR { continue }
            close(descriptor)
            if code == EWOULDBLOCK { return nil }
            throw StorageError(system: code, while: "locking \(path)")
        }
        self.descriptor = descriptor
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
