import CFiles
import Glibc
import Synchronization

/// Assets as files of a directory: `files/ab/abcd…` what is published, `uploads/` what is being written.
///
/// An upload is written to `uploads/`, made durable, and linked to its place; the entry in `uploads/` goes when the row is
/// committed. So an entry that a start finds there leads to a file that may have no row.
package final class AssetDirectory: AssetStore {
    private let path: String
    /// Whether the directory goes when it is closed.
    private let isTemporary: Bool
    private let isMade = Mutex(false)

    /// The directory is made when the first file is.
    package init(path: String) {
        self.path = path
        isTemporary = false
    }

    /// A directory of the system's for temporary files. It is gone when it is closed, and its files are not made durable.
    package init(temporary name: String) {
        path = "\(Self.temporaryFolder)/\(Self.temporaryPrefix)\(getpid())-\(name)"
        isTemporary = true
        _ = Self.sweep
    }

    private static let temporaryPrefix = "nephos-assets-"
    private static var temporaryFolder: String { getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp" }

    /// Removes, once in a process, what processes left that were killed.
    private static let sweep: Void = {
        for entry in (try? FileDirectory.names(in: temporaryFolder)) ?? [] where entry.hasPrefix(temporaryPrefix) {
            let process = entry.dropFirst(temporaryPrefix.count).prefix { $0 != "-" }
            guard let id = pid_t(process), id > 0, kill(id, 0) != 0, errno == ESRCH else { continue }
            FileDirectory.removeAll("\(temporaryFolder)/\(entry)")
        }
    }()

    deinit { close() }

    fileprivate var uploads: String { "\(path)/uploads" }

    private func directory(of name: String) -> String { "\(path)/files/\(name.prefix(2))" }
    private func path(of name: String) -> String { "\(directory(of: name))/\(name)" }

    /// Names are the service's: letters, digits, `-` and `_`.
    private static func check(_ name: String) throws {
        let isSafe = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isSafe, (2...200).contains(name.utf8.count) else {
            throw StorageError(.constraint, "\"\(name)\" cannot be an asset file's name.")
        }
    }

    package func makeFile() throws -> any AssetFileWriter {
        try isMade.withLock { isMade in
            if isMade { return }
            try FileDirectory.make(uploads)
            isMade = true
        }
        let name = String(UInt64.random(in: .min ... .max), radix: 36)
        return try AssetDirectoryWriter(self, temporary: "\(uploads)/\(name)", isDurable: !isTemporary)
    }

    package func open(_ name: String) throws -> (any AssetFileReader)? {
        try Self.check(name)
        return try AssetDirectoryReader(path(of: name))
    }

    package func remove(_ name: String) throws {
        try Self.check(name)
        if unlink(path(of: name)) != 0, errno != ENOENT {
            throw StorageError(system: errno, while: "deleting the asset file \(name)")
        }
    }

    package func files(after name: String, limit: Int) throws -> [String] {
        var found: [String] = []
        for folder in try FileDirectory.names(in: "\(path)/files") where folder >= name.prefix(2) {
            for file in try FileDirectory.names(in: "\(path)/files/\(folder)") where Self.isBehind(file, name) {
                found.append(file)
            }
            if found.count >= limit { break }
        }
        return Array(found.prefix(limit))
    }

    private static func isBehind(_ file: String, _ name: String) -> Bool {
        name.utf8.lexicographicallyPrecedes(file.utf8)
    }

    package func leftovers() throws -> [AssetLeftover] {
        var found: [AssetLeftover] = []
        for entry in try FileDirectory.names(in: uploads) {
            // A name without a dot was never about to be published.
            guard let dot = entry.firstIndex(of: ".") else {
                unlink("\(uploads)/\(entry)")
                continue
            }
            let name = String(entry[entry.index(after: dot)...])
            let (temporary, published) = ("\(uploads)/\(entry)", path(of: name))
            found.append(
                AssetLeftover(name: name) { hasRow in
                    if !hasRow { unlink(published) }
                    unlink(temporary)
                })
        }
        return found
    }

    package func freeBytes() throws -> Int64? {
        var status = statvfs()
        // Before the directory is made, what is above it has the answer.
        var place = path
        while statvfs(place, &status) != 0 {
            let parent = FileDirectory.parent(of: place)
            guard errno == ENOENT, parent != place else {
                throw StorageError(system: errno, while: "asking for the free space of \(path)")
            }
            place = parent
        }
        return Int64(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
    }

    package func close() {
        guard isTemporary else { return }
        isMade.withLock { isMade in
            if isMade { FileDirectory.removeAll(path) }
            isMade = false
        }
    }

    // MARK: What its files need

    /// Links a file to its place, and makes that durable.
    fileprivate func link(_ temporary: String, as name: String, durably: Bool) throws {
        try Self.check(name)
        try FileDirectory.make(directory(of: name))
        guard Glibc.link(temporary, path(of: name)) == 0 else {
            throw StorageError(system: errno, while: "publishing the asset file \(name)")
        }
        if durably {
            try FileDirectory.synchronize(directory(of: name))
            try FileDirectory.synchronize(uploads)
        }
    }
}

/// A file of an `AssetDirectory` that is being written.
private final class AssetDirectoryWriter: AssetFileWriter, @unchecked Sendable {
    // `@unchecked`: one thread at a time uses it, as its protocol says.
    private let directory: AssetDirectory
    private let isDurable: Bool
    private var temporary: String
    private var descriptor: Int32
    private var published: String?
    private var isSettled = false

    init(_ directory: AssetDirectory, temporary: String, isDurable: Bool) throws {
        self.directory = directory
        self.temporary = temporary
        self.isDurable = isDurable
        descriptor = FileDirectory.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "making the asset file \(temporary)") }
    }

    deinit { discard() }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw StorageError(system: errno, while: "writing an asset file") }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    func publish(as name: String) throws {
        if isDurable, fdatasync(descriptor) != 0 {
            throw StorageError(system: errno, while: "synchronizing an asset file")
        }
        Glibc.close(descriptor)
        descriptor = -1
        // By its name a later start finds what it was about to become.
        let announced = "\(temporary).\(name)"
        guard rename(temporary, announced) == 0 else {
            throw StorageError(system: errno, while: "renaming an asset file")
        }
        temporary = announced
        published = name
        try directory.link(temporary, as: name, durably: isDurable)
    }

    func settle() throws {
        isSettled = true
        unlink(temporary)
    }

    func discard() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
        if isSettled { return }
        isSettled = true
        if let published { try? directory.remove(published) }
        unlink(temporary)
    }
}

/// A file of an `AssetDirectory`. It can be read to its end also when it is deleted meanwhile.
private final class AssetDirectoryReader: AssetFileReader {
    private let descriptor: Int32
    let size: Int64

    init?(_ path: String) throws {
        descriptor = FileDirectory.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw StorageError(system: errno, while: "opening the asset file \(path)")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let code = errno
            Glibc.close(descriptor)
            throw StorageError(system: code, while: "opening the asset file \(path)")
        }
        size = Int64(status.st_size)
    }

    deinit { Glibc.close(descriptor) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            if errno != EINTR { throw StorageError(system: errno, while: "reading an asset file") }
        }
    }

    func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int? {
        let count = Int(cfiles_read_cached(descriptor, buffer.baseAddress, buffer.count, offset))
        // Otherwise a thread that may wait reads.
        return count > 0 ? count : nil
    }
}
