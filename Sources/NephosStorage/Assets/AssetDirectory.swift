import CFiles
import Glibc
import Synchronization

/// The assets of a store as files of a directory: published files in `files/ab/abcd…`, unpublished files in `uploads/`.
///
/// An upload is written to `uploads/`, made durable, and linked to its final path. Its entry in `uploads/` is removed
/// after the commit of its row. So an entry that the next start finds names a file that may lack a row.
package final class AssetDirectory: AssetStore {
    private let path: String
    private let isTemporary: Bool
    /// Whether `close` keeps a temporary directory, for a store that is opened again.
    private let outlivesClose: Bool
    private let isMade = Mutex(false)
    /// Whether a directory that is not temporary was closed. An upload that ends later makes no file in it.
    private let isClosed = Atomic(false)
    /// Whether the file system reports cached pages. A network file system does not, and opening a file on it blocks.
    private let isLocal = Atomic(false)

    /// A store in the directory at `path`, which is created with the first file.
    package init(path: String) {
        self.path = path
        isTemporary = false
        outlivesClose = true
    }

    /// A store in a directory among the system's temporary files, which is removed at the latest with this object. Its
    /// files are not made durable.
    /// - Parameter outlivesClose: whether `close` keeps the directory, for a store that is opened again.
    package init(temporary name: String, outlivesClose: Bool = false) {
        self.outlivesClose = outlivesClose
        path = "\(Self.temporaryFolder)/\(Self.temporaryPrefix)\(getpid())-\(name)"
        isTemporary = true
        _ = Self.sweep
    }

    private static let temporaryPrefix = "nephos-assets-"
    private static var temporaryFolder: String { getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp" }

    /// Removes the temporary directories of processes that were killed. Runs once per process.
    private static let sweep: Void = {
        for entry in (try? FileSystem.names(in: temporaryFolder)) ?? [] where entry.hasPrefix(temporaryPrefix) {
            let process = entry.dropFirst(temporaryPrefix.count).prefix { $0 != "-" }
            guard let id = pid_t(process), id > 0, kill(id, 0) != 0, errno == ESRCH else { continue }
            FileSystem.removeAll("\(temporaryFolder)/\(entry)")
        }
    }()

    deinit { if isTemporary { remove() } }

    fileprivate var uploads: String { "\(path)/uploads" }

    private func directory(of name: String) -> String { "\(path)/files/\(name.prefix(2))" }
    private func path(of name: String) -> String { "\(directory(of: name))/\(name)" }

    private func checkOpen() throws {
        if isClosed.load(ordering: .acquiring) { throw StorageError(.closed, "the asset directory is closed") }
    }

    package func makeFile() throws -> any AssetFileWriter {
        try checkOpen()
        try isMade.withLock { isMade in
            if !isMade, !isTemporary { try makeFolders() }
            isMade = true
        }
        return AssetDirectoryWriter(self, try StagingDirectory(uploads).make(), isDurable: !isTemporary)
    }

    /// Creates all folders of a new directory at once, so that the first few hundred files need not each wait for the
    /// creation of one.
    private func makeFolders() throws {
        let files = "\(path)/files"
        if FileSystem.isDirectory(files) { return }
        try FileSystem.makeDirectory(files)
        for number in 0..<256 {
            // If a folder cannot be created now, it is created with its first file. If that fails too, the file reports
            // the reason.
            mkdir("\(files)/\(String(number + 256, radix: 16).dropFirst())", 0o700)
        }
        try FileSystem.synchronize(directory: files)
    }

    package func open(_ name: String) throws -> (any AssetFileReader)? {
        try AssetFileName.check(name)
        return try AssetDirectoryReader(path(of: name), self)
    }

    package func openNow(_ name: String) throws -> (any AssetFileReader)? {
        try AssetFileName.check(name)
        guard isLocal.load(ordering: .relaxed) else { return nil }
        let descriptor = cfiles_open_cached(path(of: name))
        return descriptor >= 0 ? try AssetDirectoryReader(descriptor, path(of: name), self) : nil
    }

    fileprivate func noteLocal() {
        if !isLocal.load(ordering: .relaxed) { isLocal.store(true, ordering: .relaxed) }
    }

    package func remove(_ name: String) throws {
        try AssetFileName.check(name)
        if unlink(path(of: name)) != 0, errno != ENOENT {
            throw StorageError(system: errno, while: "deleting the asset file \(name)")
        }
    }

    package func files(after name: String, limit: Int) throws -> [String] {
        var found: [String] = []
        for folder in try FileSystem.names(in: "\(path)/files") where folder >= name.prefix(2) {
            let place = "\(path)/files/\(folder)"
            // Ignores entries that other programs made.
            guard folder.utf8.count == 2, FileSystem.isDirectory(place) else { continue }
            for file in try FileSystem.names(in: place) where Self.isBehind(file, name) {
                if AssetFileName.isSafe(file), file.hasPrefix(folder) { found.append(file) }
            }
            if found.count >= limit { break }
        }
        return Array(found.prefix(limit))
    }

    private static func isBehind(_ file: String, _ name: String) -> Bool {
        name.utf8.lexicographicallyPrecedes(file.utf8)
    }

    package func leftovers(olderThan seconds: Int64) throws -> [AssetLeftover] {
        try StagingDirectory(uploads).announced(olderThan: seconds).map { file in
            let published = path(of: file.name)
            return AssetLeftover(name: file.name) { hasRow in
                if !hasRow { unlink(published) }
                unlink(file.path)
            }
        }
    }

    package func freeBytes() throws -> Int64? { try StagingDirectory(uploads).freeBytes() }

    package func holdFiles() throws -> RemovalLock? {
        FileSystem.isDirectory(path) ? try RemovalLock(path, .hold) : nil
    }

    package func lockForRemoval() throws -> RemovalLock? {
        isMade.withLock { $0 = true }
        try FileSystem.makeDirectory(path)
        return try RemovalLock(path, .remove)
    }

    package func close() {
        if isTemporary, !outlivesClose { remove() }
        if !isTemporary { isClosed.store(true, ordering: .releasing) }
    }

    private func remove() {
        isMade.withLock { isMade in
            if isMade { FileSystem.removeAll(path) }
            isMade = false
        }
    }

    // MARK: File operations

    /// Links a temporary file to its final path.
    fileprivate func link(_ temporary: String, as name: String) throws {
        try AssetFileName.check(name)
        try checkOpen()
        try FileSystem.makeDirectory(directory(of: name))
        guard Glibc.link(temporary, path(of: name)) == 0 else {
            throw StorageError(system: errno, while: "publishing the asset file \(name)")
        }
    }

    /// Makes the link of a file durable. The entry in `uploads` is older than the link, so journaling file systems
    /// persist both together. On other file systems a power failure before the commit of the row leaves a file without
    /// a row, which `nephos verify` lists.
    fileprivate func synchronizeFolder(of name: String) throws {
        try FileSystem.synchronize(directory: directory(of: name))
    }
}

/// An unpublished file of an `AssetDirectory`.
private final class AssetDirectoryWriter: AssetFileWriter, @unchecked Sendable {
    // `@unchecked`: one thread at a time uses the writer, as the protocol requires.
    private let directory: AssetDirectory
    private let file: StagedFile
    private let isDurable: Bool
    private var published: String?
    private var isSettled = false

    init(_ directory: AssetDirectory, _ file: StagedFile, isDurable: Bool) {
        self.directory = directory
        self.file = file
        self.isDurable = isDurable
    }

    deinit {
        // A published file may have a row, so a later start decides whether the file stays.
        if published == nil { discard() }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws { try file.write(bytes) }

    func publish(as name: String) throws {
        if isDurable { try file.synchronize() }
        do {
            // The name of the entry tells a later start the published name. The entry is made durable together with the
            // link.
            try file.announce(name, durably: false)
            try directory.link(file.path, as: name)
            published = name
            if isDurable { try directory.synchronizeFolder(of: name) }
        } catch {
            discard()
            throw error
        }
    }

    func settle() throws {
        isSettled = true
        file.remove()
    }

    func discard() {
        if isSettled { return }
        isSettled = true
        if let published { try? directory.remove(published) }
        file.remove()
    }
}

/// A published file of an `AssetDirectory`. The reader can read the whole file even if the file is deleted meanwhile.
private final class AssetDirectoryReader: AssetFileReader {
    private let descriptor: Int32
    let size: Int64
    private let directory: AssetDirectory

    convenience init?(_ path: String, _ directory: AssetDirectory) throws {
        let descriptor = FileSystem.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw StorageError(system: errno, while: "opening the asset file \(path)")
        }
        try self.init(descriptor, path, directory)
    }

    /// - Parameter descriptor: the open file, closed by `deinit`, or by the initializer if that fails.
    init(_ descriptor: Int32, _ path: String, _ directory: AssetDirectory) throws {
        self.descriptor = descriptor
        self.directory = directory
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
        // Without cached bytes, a thread that may block has to read them.
        guard count > 0 else { return nil }
        directory.noteLocal()
        return count
    }
}
