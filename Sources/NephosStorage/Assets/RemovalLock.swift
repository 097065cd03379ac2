import Glibc

/// Keeps files of assets from being removed while a backup takes them, also by another process: a locked file beside them.
/// Many may hold the files, or one may remove some. It is let go of with the object, and with its process.
package final class RemovalLock: Sendable {
    package enum Purpose: Sendable {
        /// Files are to stay. Waits for a removal that is under way.
        case hold
        /// Files are to go.
        case remove
    }

    static let name = "removal.lock"

    private let descriptor: Int32

    /// - Parameter directory: is there.
    /// - Returns: nil where files are to be removed and are held.
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
