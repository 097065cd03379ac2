import CSQLite
import Glibc
import NephosStorage

/// Opens the file of a store, and refuses any file that is not one.
enum StoreFile {
    /// Returns the writer's connection, after creating the file or migrating it to the last version. The
    /// file is copied before a breaking migration.
    static func open(_ path: String, _ options: SQLiteOptions, _ damage: DamageLog? = nil) throws -> Connection {
        if FileSystem.exists(path) {
            try check(path, options.migrations)
        } else {
            try create(path, options.migrations)
        }
        let connection = try Connection(path: path, access: .writing, damage: damage)
        try connection.execute(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = \(options.durability == .full ? "FULL" : "NORMAL");
            PRAGMA cache_size = -\(options.writerCache);
            PRAGMA cache_spill = \(Self.dirtyPages);
            PRAGMA journal_size_limit = 67108864;
            PRAGMA temp_store = MEMORY;
            """)
        try connection.migrate(options.migrations) { version in
            try CopyBeforeMigration.make(of: connection, at: path, before: version, options.log)
        }
        connection.use(Checkpointer(path: path, options: options))
        return connection
    }

    /// The maximum number of pages per transaction that stay in memory before some are spilled to the log: 64 MiB. Only
    /// a transaction that changes as many pages uses the memory, until it is committed.
    private static let dirtyPages = 16_384

    /// Returns a connection that only checkpoints the log. The writer has the file open.
    static func openCheckpointer(_ path: String, _ options: SQLiteOptions) throws -> Connection {
        let connection = try Connection(path: path, access: .writing)
        try connection.execute(
            """
            PRAGMA synchronous = \(options.durability == .full ? "FULL" : "NORMAL");
            PRAGMA wal_autocheckpoint = 0;
            PRAGMA cache_size = -64;
            """)
        return connection
    }

    /// Returns a reader's connection. The writer has the file open.
    static func openReader(
        _ path: String, _ options: SQLiteOptions, _ damage: DamageLog? = nil, access: Connection.Access = .reading
    ) throws -> Connection {
        let connection = try Connection(path: path, access: access, damage: damage)
        try connection.execute(
            """
            PRAGMA mmap_size = \(options.mapped);
            PRAGMA cache_size = -\(options.readerCache);
            PRAGMA temp_store = MEMORY;
            """)
        return connection
    }

    /// Creates an empty store that only its owner may access. The creation is atomic: a crash never leaves a file
    /// without tables, so such a file can be refused.
    private static func create(_ path: String, _ migrations: [Migration]) throws {
        guard FileSystem.size("\(path)-wal") == 0 else {
            throw StorageError(.damaged, "the file is missing, although its log, \(path)-wal, is there")
        }
        let draft = "\(path).new"
        for leftover in [draft, "\(draft)-journal"] where FileSystem.exists(leftover) {
            guard unlink(leftover) == 0 else { throw StorageError(system: errno, while: "removing \(leftover)") }
        }
        let descriptor = FileSystem.open(draft, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "creating \(draft)") }
        close(descriptor)
        let connection = try Connection(path: draft, access: .writing)
        defer { connection.close() }
        try connection.execute("PRAGMA journal_mode = MEMORY")
        try connection.migrate(migrations)
        guard rename(draft, path) == 0 else { throw StorageError(system: errno, while: "renaming \(draft)") }
        try FileSystem.synchronizeParent(of: path)
    }

    /// Returns the path of a file that a store is copied to before it gets its name, and removes what an interrupted copy left
    /// there.
    static func draft(of path: String) throws -> String {
        let draft = "\(path).copy"
        for leftover in ["", "-journal", "-wal", "-shm"] where FileSystem.exists(draft + leftover) {
            guard unlink(draft + leftover) == 0 else { throw StorageError(system: errno, while: "removing \(draft)") }
        }
        return draft
    }

    /// Refuses a file that is not a Nephos store, that is incomplete, or that has another version. The check runs
    /// before SQLite opens the file, because SQLite may change it.
    static func check(_ path: String, _ migrations: [Migration]) throws {
        // Without O_NONBLOCK, opening a pipe would block.
        let descriptor = FileSystem.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "opening \(path)") }
        defer { close(descriptor) }
        guard FileSystem.isFile(path) else { throw StorageError(.inputOutput, "it is not a file") }
        var header = [UInt8](repeating: 0, count: 100)
        let count = header.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw StorageError(system: errno, while: "reading \(path)") }
        if count == 0 { throw StorageError(.damaged, "it is empty") }
        guard count == 100, header.starts(with: "SQLite format 3\0".utf8) else {
            throw StorageError(.damaged, "it is not a SQLite file")
        }
        func number(at offset: Int) -> Int { header[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
        guard number(at: 68) == Connection.applicationID else {
            throw StorageError(.damaged, "it is a SQLite database, but not a store of Nephos")
        }
        _ = try migrations.ranCount(ofStore: number(at: 60))
        // SQLite fills a truncated last page with zeros. Only a write-ahead log can repair that page.
        let pageSize = Int64(header[16]) << 8 | Int64(header[17]) << 16
        guard pageSize > 0, FileSystem.size("\(path)-wal") == 0 else { return }
        guard FileSystem.size(path) % pageSize == 0 else { throw StorageError(.damaged, "its end is missing") }
    }
}

extension StorageError {
    /// Returns the same error with the path of the file and with advice.
    func opening(_ path: String) -> StorageError {
        let advice =
            switch code {
            case .damaged:
                " Nothing was changed. Move it away with its -wal and -shm, and restore it from a backup (nephos restore --container ID). nephos dev starts empty without one."
            case .otherVersion: " Nothing was changed."
            default: ""
            }
        return StorageError(code, "The store \(path) cannot be opened: \(message).\(advice)")
    }
}
