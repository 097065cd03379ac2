import Glibc
import NephosCrypto
package import NephosStorage
package import NephosThreads
import Synchronization

/// Assets as objects of a bucket, with the key `<container>/<environment>/<name>` after the prefix.
///
/// An upload is written to a file in a local directory. Once it is complete, the file is sent to the bucket in one
/// request. Its entry in the directory is removed after the commit of its row. So an entry that is found later names an
/// object that may lack a row. Several servers may share a bucket, but each needs a directory of its own.
package final class ObjectAssetStore: AssetStore {
    private let requests: ObjectRequests
    private let place: String
    private let spool: StagingDirectory

    /// - Parameter spool: the directory for uploads in progress, which is created with the first upload.
    package init(_ requests: ObjectRequests, _ id: StoreID, spool: String) {
        self.requests = requests
        place = "\(id.container)/\(id.environment)"
        self.spool = StagingDirectory(spool)
    }

    package var threads: BlockingPool { .network }

    fileprivate func key(_ name: String) throws -> String {
        try AssetFileName.check(name)
        return "\(place)/\(name)"
    }

    package func makeFile() throws -> any AssetFileWriter {
        ObjectWriter(try spool.make(), self, requests)
    }

    package func open(_ name: String) throws -> (any AssetFileReader)? { try ObjectReader(requests, try key(name)) }

    package func remove(_ name: String) throws { try requests.delete(try key(name)) }

    package func files(after name: String, limit: Int) throws -> [String] {
        var last = name.isEmpty ? "" : "\(place)/\(name)"
        while true {
            let (keys, _) = try requests.list(after: last, under: "\(place)/", limit: limit)
            guard let end = keys.last else { return [] }
            // Ignores objects that other programs made.
            let names = keys.map { String($0.dropFirst(place.count + 1)) }.filter(AssetFileName.isSafe)
            if !names.isEmpty { return names }
            last = end
        }
    }

    package func leftovers(olderThan seconds: Int64) throws -> [AssetLeftover] {
        try spool.announced(olderThan: seconds).map { file in
            AssetLeftover(name: file.name) { [self] hasRow in
                if !hasRow { try remove(file.name) }
                unlink(file.path)
            }
        }
    }

    /// The number of free bytes on the disk to which uploads are spooled. It is usually the disk of the database.
    package func freeBytes() throws -> Int64? { try spool.freeBytes() }

    package func holdFiles() throws -> RemovalLock? { try spool.lock(.hold) }

    package func lockForRemoval() throws -> RemovalLock? { try spool.lock(.remove) }

    package func close() {}
}

/// An unpublished file that is spooled for its upload to a bucket.
private final class ObjectWriter: AssetFileWriter, @unchecked Sendable {
    // `@unchecked`: one thread at a time uses the writer, as the protocol requires.
    private let file: StagedFile
    private let store: ObjectAssetStore
    private let requests: ObjectRequests
    private let hash = StreamingHash(.sha256)
    private var published: String?
    private var isSettled = false

    init(_ file: StagedFile, _ store: ObjectAssetStore, _ requests: ObjectRequests) {
        self.file = file
        self.store = store
        self.requests = requests
    }

    deinit {
        // The entry of a published object stays announced, and the object is removed later, because `deinit` must not
        // block.
        if published == nil { file.remove() }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        hash.update(bytes)
        try file.write(bytes)
    }

    func publish(as name: String) throws {
        let key = try store.key(name)
        try file.announce(name, durably: true)
        published = name
        // The entry stays even if the request fails, because the object may exist.
        defer { file.empty() }
        try requests.put(key, file: file.path, hash: hash.finish())
    }

    func settle() throws {
        isSettled = true
        file.remove()
    }

    func discard() {
        if isSettled { return }
        if let published {
            // If the object storage cannot be reached, the entry stays, and the removal is retried later.
            guard (try? store.remove(published)) != nil else { return }
        }
        isSettled = true
        file.remove()
    }
}

/// A reader of an object in a bucket, which reads it in pieces. The latest piece stays in memory.
private final class ObjectReader: AssetFileReader {
    /// The number of bytes per request: enough to make the round trip negligible, and few enough for many concurrent
    /// downloads.
    private static let pieceSize = 2 << 20

    private struct Piece {
        var start: Int64
        var bytes: [UInt8]
    }

    private let requests: ObjectRequests
    private let key: String
    private let piece: Mutex<Piece>
    let size: Int64

    init?(_ requests: ObjectRequests, _ key: String) throws {
        guard let first = try requests.get(key, at: 0, count: Self.pieceSize) else { return nil }
        self.requests = requests
        self.key = key
        size = first.size
        piece = Mutex(Piece(start: 0, bytes: first.bytes))
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        if let count = try readNow(into: buffer, at: offset) { return count }
        guard let part = try requests.get(key, at: offset, count: Self.pieceSize) else {
            throw StorageError(.inputOutput, "The object \(key) was deleted while it was read.")
        }
        piece.withLock { $0 = Piece(start: offset, bytes: part.bytes) }
        return copy(from: part.bytes[...], into: buffer)
    }

    func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int? {
        if offset >= size { return 0 }
        return piece.withLock { piece in
            let skipped = offset - piece.start
            guard skipped >= 0, skipped < piece.bytes.count else { return nil }
            return copy(from: piece.bytes[Int(skipped)...], into: buffer)
        }
    }

    private func copy(from bytes: ArraySlice<UInt8>, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(bytes.count, buffer.count)
        bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        return count
    }
}
