import CFiles
import Glibc

/// The names that are safe for asset files: letters, digits, `-` and `_`.
package enum AssetFileName {
    package static func isSafe(_ name: String) -> Bool {
        (2...200).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// - Throws: `StorageError` for a name that could escape the directory.
    package static func check(_ name: String) throws {
        guard isSafe(name) else { throw StorageError(.constraint, "\"\(name)\" cannot be an asset file's name.") }
    }
}

/// A directory of unpublished files: `<number>` while a file is being written, `<number>.<name>` once its name is
/// announced.
package struct StagingDirectory: Sendable {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// Creates a file, and the directory if that is missing.
    package func make() throws -> StagedFile {
        let file = "\(path)/\(String(UInt64.random(in: .min ... .max), radix: 36))"
        do {
            return try StagedFile(file, in: path)
        } catch {
            // Another process may have created the directory meanwhile. Any other error recurs in the next call.
            try FileSystem.makeDirectory(path)
            return try StagedFile(file, in: path)
        }
    }

    /// The announced files of processes that ended before they settled them. Removes files that were never announced.
    /// - Parameter seconds: the minimum age of a file in seconds, since its last write.
    package func announced(olderThan seconds: Int64) throws -> [(name: String, path: String)] {
        try FileSystem.names(in: path).compactMap { entry in
            if entry == RemovalLock.name || seconds > 0 && age(of: entry) < seconds { return nil }
            guard let dot = entry.firstIndex(of: ".") else {
                unlink("\(path)/\(entry)")
                return nil
            }
            let name = String(entry[entry.index(after: dot)...])
            // Ignores entries that other programs made.
            return AssetFileName.isSafe(name) ? (name, "\(path)/\(entry)") : nil
        }
    }

    private func age(of entry: String) -> Int64 {
        var status = stat()
        guard lstat("\(path)/\(entry)", &status) == 0 else { return 0 }
        return Int64(time(nil) - status.st_mtim.tv_sec)
    }

    /// Locks the files that are published from this directory, either to prevent their removal or to remove some.
    package func lock(_ purpose: RemovalLock.Purpose) throws -> RemovalLock? {
        try FileSystem.makeDirectory(path, isOwners: true)
        return try RemovalLock(path, purpose)
    }

    /// The number of free bytes in the directory's file system.
    package func freeBytes() throws -> Int64 {
        var status = statvfs()
        // Until the directory exists, its nearest existing ancestor determines the file system.
        var place = path
        while statvfs(place, &status) != 0 {
            let parent = FileSystem.parent(of: place)
            guard errno == ENOENT, parent != place else {
                throw StorageError(system: errno, while: "asking for the free space of \(path)")
            }
            place = parent
        }
        return Int64(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
    }
}

/// A file that is being written or is about to be published. One thread at a time uses it.
package final class StagedFile {
    private let directory: String
    package private(set) var path: String
    private var descriptor: Int32
    private var size: Int64 = 0
    /// The offset up to which writeback was started.
    private var begun: Int64 = 0
    /// The minimum number of unwritten bytes for which a call that starts writeback is worthwhile.
    private static let writebackSize: Int64 = 4 << 20

    fileprivate init(_ path: String, in directory: String) throws {
        self.path = path
        self.directory = directory
        descriptor = FileSystem.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "making the asset file \(path)") }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw StorageError(system: errno, while: "writing an asset file") }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        size += Int64(bytes.count)
        if size - begun >= Self.writebackSize {
            cfiles_begin_writeback(descriptor, begun, size - begun)
            begun = size
        }
    }

    /// Ends writing and records in the file's entry the name under which it is about to be published. A later start
    /// reads that name.
    /// - Parameter durably: whether the renamed entry survives a power failure.
    package func announce(_ name: String, durably: Bool) throws {
        try AssetFileName.check(name)
        close(descriptor)
        descriptor = -1
        let announced = "\(path).\(name)"
        guard rename(path, announced) == 0 else { throw StorageError(system: errno, while: "renaming an asset file") }
        path = announced
        if durably { try FileSystem.synchronize(directory: directory) }
    }

    /// Makes the written bytes durable.
    package func synchronize() throws {
        guard fdatasync(descriptor) == 0 else {
            throw StorageError(system: errno, while: "synchronizing an asset file")
        }
    }

    /// Discards the written bytes. The entry with the announced name stays.
    package func empty() { truncate(path, 0) }

    /// Removes the entry. Links to the file in other directories stay.
    package func remove() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
        unlink(path)
    }
}
