import Foundation
import Glibc
import NephosCrypto

/// The downloaded files of assets: a content cache for each account, and one copy for each asset. The copy belongs to
/// the app.
///
/// The directory is private to the user (0700) and shared by processes. A rename adds a content to the cache
/// atomically. Eviction is always safe, because the app gets only copies of the cached contents. Each process has a
/// directory for its copies, which it keeps locked. Other processes remove the directory once its process has ended.
final class AssetFiles: Sendable {
    static let shared = AssetFiles(root: defaultRoot)

    private enum Limit {
        /// The maximum size of the cache in bytes, over all accounts. Beyond it, the least recently used contents are
        /// evicted.
        static let cached: Int64 = 1 << 30
        /// The number of bytes below the limit down to which an eviction shrinks the cache.
        static let evicted = cached / 4
        /// The number of bytes that a process adds to the cache before it measures the size of the cache again.
        static let unexamined: Int64 = 64 << 20
        /// The time in seconds for which a copy outlives its asset, because apps read files after they have released
        /// the asset.
        static let released = 300.0
        /// The time in seconds for which copies outlive their process, because archives refer to them.
        static let abandoned = 24.0 * 60 * 60
    }

    private struct State {
        var ownFolder: URL?
        var lock: Int32 = -1
        var count = 0
        var added = Limit.unexamined
        var released: [(file: URL, at: Date)] = []
    }

    let root: URL
    private let state = Locked(State())

    init(root: URL) { self.root = root }

    /// The default directory: `$NEPHOS_CACHE`, or else the user's cache directory.
    private static var defaultRoot: URL {
        let variables = ProcessInfo.processInfo.environment
        if let path = variables["NEPHOS_CACHE"], !path.isEmpty { return URL(fileURLWithPath: path) }
        let caches: URL
        if let path = variables["XDG_CACHE_HOME"], path.hasPrefix("/") {
            caches = URL(fileURLWithPath: path)
        } else if let home = variables["HOME"], home.hasPrefix("/") {
            caches = URL(fileURLWithPath: home).appendingPathComponent(".cache")
        } else {
            caches = FileManager.default.temporaryDirectory.appendingPathComponent("cache-\(getuid())")
        }
        return caches.appendingPathComponent("nephos/assets")
    }

    // MARK: Copies

    /// Returns a unique path for the file of an asset, without creating the file.
    func makeFile() throws -> AssetFileKeeper {
        let folder = try ownFolder()
        discardReleased(before: Date(timeIntervalSinceNow: -Limit.released))
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        return AssetFileKeeper(folder.appendingPathComponent("\(number)-\(UUID().uuidString)"), self)
    }

    /// Copies a cached content; nil if the cache does not have it. The cache stores the bytes as the service has them.
    /// - Parameter key: the key that opens the content; nil if the content is not sealed.
    func copy(_ content: String, of account: String, openedWith key: SealKey? = nil) throws -> AssetFileKeeper? {
        let source = folder(account).appendingPathComponent(content).path
        let descriptor = open(source, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let keeper = try makeFile()
        if let key {
            try SealedFile.open(descriptor, with: key, to: keeper.url.path)
        } else {
            try FileCopy.copy(from: descriptor, to: keeper.url.path)
        }
        // The modification time is the time of the last use, for LRU eviction.
        utimes(source, nil)
        return keeper
    }

    fileprivate func release(_ file: URL) { state.withLock { $0.released.append((file, Date())) } }

    private func discardReleased(before date: Date) {
        let due = state.withLock { state in
            let due = state.released.prefix { $0.at < date }
            state.released.removeFirst(due.count)
            return Array(due)
        }
        for (file, _) in due { unlink(file.path) }
    }

    /// Returns the directory of this process, which the process keeps locked.
    private func ownFolder() throws -> URL {
        try state.withLock { state in
            // People and systems clear caches.
            if let folder = state.ownFolder, access(folder.path, F_OK) == 0 { return folder }
            if state.lock >= 0 { close(state.lock) }
            (state.lock, state.ownFolder) = (-1, nil)
            let copies = root.appendingPathComponent("copies")
            try Self.makeDirectory(copies)
            Self.removeAbandoned(in: copies)
            let folder = copies.appendingPathComponent("\(getpid())-\(UUID().uuidString)")
            try Self.makeDirectory(folder)
            // The lock is never released, so it is held until the process ends.
            state.lock = open(folder.appendingPathComponent("lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard state.lock >= 0, flock(state.lock, LOCK_EX | LOCK_NB) == 0 else {
                throw CocoaError(.fileWriteUnknown)
            }
            state.ownFolder = folder
            return folder
        }
    }

    private static func removeAbandoned(in copies: URL) {
        let folders = try? FileManager.default.contentsOfDirectory(at: copies, includingPropertiesForKeys: nil)
        for folder in folders ?? [] {
            var status = stat()
            guard stat(folder.path, &status) == 0,
                Date().timeIntervalSince1970 - Double(status.st_mtim.tv_sec) > Limit.abandoned
            else { continue }
            let lock = open(folder.appendingPathComponent("lock").path, O_RDWR | O_CLOEXEC)
            defer { if lock >= 0 { close(lock) } }
            if lock >= 0, flock(lock, LOCK_EX | LOCK_NB) != 0 { continue }
            try? FileManager.default.removeItem(at: folder)
        }
    }

    // MARK: The cache

    /// Returns the path of a temporary file for a content that the account is about to cache.
    func makeTemporary(_ account: String) throws -> URL {
        let folder = folder(account)
        try Self.makeDirectory(folder)
        return folder.appendingPathComponent(".\(UUID().uuidString)")
    }

    /// Moves a complete file into the cache. The eviction that follows spares this file, even if the file alone exceeds
    /// the limit.
    func add(_ file: URL, as content: String, of account: String) throws {
        var status = stat()
        let size = stat(file.path, &status) == 0 ? Int64(status.st_size) : 0
        chmod(file.path, 0o400)
        let path = folder(account).appendingPathComponent(content).path
        guard rename(file.path, path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        let isDue = state.withLock { state in
            state.added += size
            defer { if state.added > Limit.unexamined { state.added = 0 } }
            return state.added > Limit.unexamined
        }
        if isDue { evict(keeping: path) }
    }

    private func folder(_ account: String) -> URL { root.appendingPathComponent("contents/\(account)") }

    /// Evicts the least recently used contents while the cache exceeds its limit. Removes abandoned temporary files.
    private func evict(keeping kept: String) {
        var contents: [(path: String, used: Int, size: Int64)] = []
        let folder = root.appendingPathComponent("contents")
        let files = FileManager.default.enumerator(atPath: folder.path)
        while let name = files?.nextObject() as? String {
            let path = folder.appendingPathComponent(name).path
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            let isTemporary = name.split(separator: "/").last?.hasPrefix(".") ?? false
            if isTemporary {
                let age = Date().timeIntervalSince1970 - Double(status.st_mtim.tv_sec)
                if age > Limit.abandoned { unlink(path) }
                continue
            }
            contents.append((path, status.st_mtim.tv_sec, Int64(status.st_size)))
        }
        var total = contents.reduce(0) { $0 + $1.size }
        guard total > Limit.cached else { return }
        for content in contents.sorted(by: { $0.used < $1.used }) where content.path != kept {
            if total <= Limit.cached - Limit.evicted { return }
            if unlink(content.path) == 0 { total -= content.size }
        }
    }

    private static func makeDirectory(_ url: URL) throws {
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
}

/// A file that belongs to one asset. The file may be removed some time after this object is deallocated.
final class AssetFileKeeper: Sendable {
    let url: URL
    private let files: AssetFiles

    fileprivate init(_ url: URL, _ files: AssetFiles) {
        self.url = url
        self.files = files
    }

    deinit { files.release(url) }
}

/// Copies and hashes files. All functions block.
enum FileCopy {
    private static let pieceSize = 1 << 20

    /// Copies an open file to a new file.
    static func copy(from source: Int32, to path: String) throws {
        let target = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard target >= 0 else { throw CocoaError(.fileWriteUnknown) }
        defer { close(target) }
        var buffer = [UInt8](repeating: 0, count: pieceSize)
        while true {
            let count = read(source, &buffer, buffer.count)
            guard count >= 0 else { throw CocoaError(.fileReadUnknown) }
            if count == 0 { return }
            try buffer.withUnsafeBytes { try write(UnsafeRawBufferPointer(rebasing: $0[..<count]), to: target) }
        }
    }

    static func write(_ bytes: UnsafeRawBufferPointer, to target: Int32) throws {
        var written = 0
        while written < bytes.count {
            let some = Glibc.write(target, bytes.baseAddress.map { $0 + written }, bytes.count - written)
            if some < 0 && errno == EINTR { continue }
            guard some > 0 else { throw CocoaError(.fileWriteUnknown) }
            written += some
        }
    }

    /// Returns the name of a file's content as the service's addresses contain it: the hash in hexadecimal digits.
    static func contentName(ofFileAt path: String) throws -> String {
        let hash = StreamingHash(.content)
        try visitPieces(ofFileAt: path) { hash.update($0) }
        return Hexadecimal.text(hash.finish())
    }

    /// Returns a file's checksum as clients of CloudKit Web Services compute it.
    static func checksum(ofFileAt path: String) throws -> String {
        let checksum = FileChecksum()
        try visitPieces(ofFileAt: path) { checksum.update($0) }
        return checksum.finish()
    }

    private static func visitPieces(ofFileAt path: String, _ body: (UnsafeRawBufferPointer) -> Void) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CocoaError(.fileReadUnknown) }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: pieceSize)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count >= 0 else { throw CocoaError(.fileReadUnknown) }
            if count == 0 { return }
            buffer.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }
}
