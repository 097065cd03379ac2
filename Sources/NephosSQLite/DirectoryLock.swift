import Glibc
import NephosStorage
import Synchronization

/// A lock on a directory for this process (flock(2)). It locks both a file in the directory and the directory itself,
/// because the file could be deleted. The file contains the process ID and the directory's identity.
///
/// The system releases the lock when the process ends, however it ends.
final class DirectoryLock: Sendable {
    private let descriptors: Mutex<[Int32]>
    /// A name of the directory that is the same for every process that locks it.
    let identity: String

    /// - Throws: `StorageError` `.inUse` if a process holds the lock, even if it is this process.
    init(directory: String) throws {
        let path = "\(directory)/.lock"
        let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "opening \(path)") }
        // A file of root's would keep a server of the directory's owner from its lock.
        try FileSystem.giveToOwner(of: directory, descriptor, path)
        var held = [descriptor]
        do {
            try Self.lock(descriptor, path, directory, namedIn: descriptor)
            let itself = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard itself >= 0 else { throw StorageError(system: errno, while: "opening \(directory)") }
            held.append(itself)
            try Self.lock(itself, directory, directory, namedIn: descriptor)
        } catch {
            for descriptor in held { close(descriptor) }
            throw error
        }
        let lines = Self.text(descriptor).split(separator: "\n")
        identity = lines.count == 2 ? String(lines[1]) : String(UInt128.random(in: .min ... .max), radix: 36)
        let text = Array("\(getpid())\n\(identity)\n".utf8)
        // Best effort: the process ID only improves the error message of another process.
        _ = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        _ = ftruncate(descriptor, off_t(text.count))
        descriptors = Mutex(held)
    }

    private static func lock(
        _ descriptor: Int32, _ path: String, _ directory: String, namedIn file: Int32
    ) throws {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
        let code = errno
        guard code == EWOULDBLOCK else { throw StorageError(system: code, while: "locking \(path)") }
        throw StorageError(
            .inUse,
            """
            The data directory \(directory) is in use by \(holder(file).map { "process \($0)" } ?? "another process"). \
            Stop it, or use another data directory.
            """)
    }

    deinit {
        release()
    }

    func release() {
        descriptors.withLock { descriptors in
            for descriptor in descriptors {
                // While a child process starts, it briefly has a copy of the descriptor, which would keep the lock. So
                // the lock is released explicitly.
                flock(descriptor, LOCK_UN)
                close(descriptor)
            }
            descriptors = []
        }
    }

    private static func holder(_ descriptor: Int32) -> Int? { Int(text(descriptor).prefix { $0 != "\n" }) }

    private static func text(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
