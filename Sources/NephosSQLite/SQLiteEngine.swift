package import NephosStorage
import Synchronization

/// One store in a SQLite file or in memory.
///
/// On disk, one thread writes (`WriteQueue`) while other threads read snapshots (`ReadConnections`). In memory there is
/// only one connection, so the writer's thread also reads, between two groups of writes. An idle store has no thread.
package final class SQLiteEngine: StorageEngine {
    private let writer: WriteQueue
    private let readers: ReadConnections?
    /// The lock of the data directory, retained as long as the store is open; nil if there is none.
    private let lease: (any Sendable)?

    /// Opens the store in the file at `path`, and creates the file if it is missing.
    /// - Throws: `StorageError` `.damaged` if the file is not a complete Nephos store, `.otherVersion`, or
    ///   `.inputOutput`.
    package convenience init(
        path: String, options: SQLiteOptions = SQLiteOptions(), lease: (any Sendable)? = nil
    ) throws {
        do {
            let damage = DamageLog(store: path, write: options.log)
            let connection = try StoreFile.open(path, options, damage)
            let checkpoints = connection.idleCheckpoints
            let readers = ReadConnections(limit: options.readers) {
                // Counted before the file is mapped, which opening may do.
                let count = checkpoints?.count.load(ordering: .acquiring) ?? 0
                let reader = try StoreFile.openReader(path, options, damage)
                if let checkpoints { reader.mapAnew(after: checkpoints, since: count) }
                return reader
            }
            connection.afterIdleCheckpoint { readers.renew() }
            try self.init(
                writer: WriteQueue(connection: connection, readers: readers),
                readers: readers, lease: lease)
        } catch let error as StorageError {
            throw error.opening(path)
        }
    }

    /// Opens an empty store in memory.
    package convenience init(inMemory options: SQLiteOptions) throws {
        let connection = try Connection(path: ":memory:", access: .writing)
        if options.migrations == Migration.all {
            try EmptyStore.shared.copy(to: connection)
        } else {
            try connection.migrate(options.migrations)
        }
        try self.init(writer: WriteQueue(connection: connection), readers: nil, lease: nil)
    }

    private init(writer: WriteQueue, readers: ReadConnections?, lease: (any Sendable)?) throws {
        self.writer = writer
        self.readers = readers
        self.lease = lease
    }

    deinit {
        readers?.shutDown()
        writer.shutDown()
    }

    /// Whether the engine has closed the file.
    var isClosed: Bool { writer.isClosed }

    package func read<T: Sendable>(
        _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        try await read(length: nil, body)
    }

    package func read<T: Sendable>(
        expecting length: ReadLength, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        try await read(length: length, body)
    }

    private func read<T: Sendable>(
        length: ReadLength?, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        if let readers {
            return try await readers.read(expecting: length, body)
        } else {
            return try await writer.read(expecting: length, body)
        }
    }

    package func write<T: Sendable>(
        of owners: Set<OwnerID>, _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        try await writer.write(of: owners.count == 1 ? owners.first : nil, body)
    }

    package func close() async {
        // The writer closes last, because the last connection checkpoints the log and removes it.
        await readers?.close()
        await writer.close()
    }
}
