import CSQLite
import Glibc
import NephosStorage

/// Opens the file of a store and refuses what is not one.
enum StoreFile {
    /// The file in memory, for its readers; it is made if there is none. Before anything else opens it.
    static func map(_ path: String, _ options: SQLiteOptions) throws -> FileMapping? {
        try create(path)
        return FileMapping(path: path, capacity: options.mapped, resident: options.resident)
    }

    /// The writer's connection, after the file was made or brought to the last version.
    static func open(_ path: String, _ options: SQLiteOptions) throws -> Connection {
        try create(path)
        try checkHeader(path)
        let connection = try Connection(path: path, access: .writing)
        try checkIsOurs(connection)
        try connection.execute(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = \(options.durability == .full ? "FULL" : "NORMAL");
            PRAGMA cache_size = -\(options.writerCache);
            PRAGMA journal_size_limit = 67108864;
            PRAGMA temp_store = MEMORY;
            """)
        try connection.migrate(options.migrations)
        connection.gatherLog()
        connection.use(Checkpointer(path: path, options: options))
        return connection
    }

    /// A connection that only moves the log of a file that the writer has open.
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

    /// A reader's connection to a file that the writer has open.
    static func openReader(
        _ path: String, _ options: SQLiteOptions, _ mapping: FileMapping? = nil
    ) throws -> Connection {
        let connection = try Connection(path: path, access: .reading)
        if let mapping { try connection.read(through: mapping, aheadFrom: options.aheadFrom) }
        try connection.execute("PRAGMA cache_size = -\(options.readerCache); PRAGMA temp_store = MEMORY")
        return connection
    }

    /// Makes an empty file that only its owner may read, and its directory entry durable, if there is no file.
    private static func create(_ path: String) throws {
        let descriptor = FileSystem.open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return }
            throw StorageError(system: errno, while: "creating \(path)")
        }
        close(descriptor)
        try FileSystem.synchronizeParent(of: path)
    }

    /// Refuses a file that is not SQLite's, or not whole, before SQLite looks at it. An empty one was just made.
    private static func checkHeader(_ path: String) throws {
        let descriptor = FileSystem.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "opening \(path)") }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 100)
        let count = header.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw StorageError(system: errno, while: "reading \(path)") }
        guard count == 0 || (count == 100 && header.starts(with: "SQLite format 3\0".utf8)) else {
            throw StorageError(.damaged, "it is not a SQLite file")
        }
        // SQLite fills a last page that is cut short with zeros. Only beside a log can it be one that the log repairs.
        let pageSize = Int64(header[16]) << 8 | Int64(header[17]) << 16
        guard count > 0, pageSize > 0, FileSystem.size("\(path)-wal") == 0 else { return }
        guard FileSystem.size(path) % pageSize == 0 else { throw StorageError(.damaged, "its end is missing") }
    }

    /// Refuses a database of somebody else's. One with nothing in it is what a crash left of one just made.
    private static func checkIsOurs(_ connection: Connection) throws {
        let tables = try connection.number("SELECT count(*) FROM sqlite_schema")
        let application = try connection.number("PRAGMA application_id")
        if application == Connection.applicationID || (application == 0 && tables == 0) { return }
        throw StorageError(.damaged, "it is a SQLite database, but not a store of Nephos")
    }
}

extension StorageError {
    /// The error for `errno`.
    init(system code: Int32, while action: String) {
        self.init(.inputOutput, "\(String(cString: strerror(code))), while \(action)")
    }

    /// The same error, saying which file could not be opened and what to do about it.
    func opening(_ path: String) -> StorageError {
        let advice =
            switch code {
            case .damaged: " Nothing was changed. Restore the file from a backup, or move it away to start empty."
            case .newerVersion: " Nothing was changed."
            default: ""
            }
        return StorageError(code, "The store \(path) cannot be opened: \(message).\(advice)")
    }
}
