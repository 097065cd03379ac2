import Glibc
import NephosCrypto
package import NephosStorage
package import NephosThreads
import Synchronization

/// Assets as objects of a bucket: `<container>/<environment>/<name>` after the prefix.
///
/// An upload is written to a file in a local directory, and sent to the bucket in one request once it is complete. Its
/// entry in the directory is removed after the row's commit, so an entry found later leads to an object that may lack a
/// row. Several servers may share a bucket, each with its own directory.
package final class ObjectAssetStore: AssetStore {
    private let requests: ObjectRequests
    private let place: String
    private let spool: StagingDirectory

    /// - Parameters:
    ///   - spool: a directory for running uploads, created with the first.
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
            // Ignores objects of other programs.
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

    /// Free bytes on the disk that uploads are spooled to, usually the database's.
    package func freeBytes() throws -> Int64? { try spool.freeBytes() }

    package func holdFiles() throws -> RemovalLock? { try spool.lock(.hold) }

    package func lockForRemoval() throws -> RemovalLock? { try spool.lock(.remove) }

    package func close() {}
}

/// A file that is being uploaded to a bucket.
private final class ObjectWriter: AssetFileWriter, @unchecked Sendable {
    // `@unchecked`: one thread at a time uses it, as the protocol requires.
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
        // A published object stays announced and is removed later, because `deinit` must not block.
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
        // The object may exist even if the request fails.
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
            // If the service cannot be reached the entry stays, and the removal is retried later.
            guard (try? store.remove(published)) != nil else { return }
        }
        isSettled = true
        file.remove()
    }
}

/// An object of a bucket, read in pieces; the newest piece stays in memory.
private final class ObjectReader: AssetFileReader {
    /// Bytes per request: enough to make the round trip negligible, few enough for many concurrent downloads.
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
