import Glibc
package import NephosStorage
import NephosThreads
import Synchronization

/// A data directory that is only read. A server may have it open at the same time.
package struct StoredDirectory: Sendable {
    package let path: String

    /// - Throws: `StorageError` if the directory does not exist.
    package init(path: String) throws {
        guard FileSystem.isDirectory(path) else {
            throw StorageError(.inputOutput, "There is no directory \(path).")
        }
        self.path = path
    }

    package func existingStores() throws -> [StoreID] { try DataDirectory.stores(in: path) }

    /// Returns the listed stores without a file.
    package func missingStores() throws -> [StoreID] {
        let missing = try StoreList(in: path)?.all.filter { !exists($0) } ?? []
        return missing.sorted { ($0.container, $0.environment) < ($1.container, $1.environment) }
    }

    /// Whether the store is there: a server may delete its container.
    package func exists(_ id: StoreID) -> Bool { FileSystem.exists(file(id)) }

    private func file(_ id: StoreID) -> String { "\(path)/\(id.container)/\(id.environment).sqlite" }

    /// Returns a snapshot of the store, which concurrent writes do not change.
    package func snapshot(_ id: StoreID) throws -> SQLiteSnapshot { try SQLiteSnapshot(path: file(id)) }

    /// Returns a snapshot of the store that leaves no file beside it where no server runs.
    package func inspection(_ id: StoreID) throws -> SQLiteSnapshot {
        try SQLiteSnapshot(path: file(id), access: .inspecting)
    }

    /// Returns the directory of the store's asset files, unless the files are in object storage.
    package func assets(of id: StoreID) -> AssetDirectory {
        AssetDirectory(path: "\(path)/\(id.container)/\(id.environment).assets")
    }

    /// Checks that this build can serve the version of the store's file. Reads the header alone; changes and locks
    /// nothing.
    /// - Throws: `StorageError`.
    package func checkVersion(_ id: StoreID) throws {
        do {
            try StoreFile.check(file(id), Migration.all)
        } catch let error as StorageError {
            throw error.opening(file(id))
        }
    }

    /// Checks that this user may write the store's file, its log, and the directory, where SQLite makes the log.
    /// - Throws: `StorageError` that names the first that it may not.
    package func checkMayWrite(_ id: StoreID) throws {
        let file = file(id)
        let parts = [file, "\(file)-wal", "\(file)-shm"].filter(FileSystem.exists).map { ($0, R_OK | W_OK) }
        for (path, mode) in [(FileSystem.parent(of: file), R_OK | W_OK | X_OK)] + parts where access(path, mode) != 0 {
            throw StorageError(system: errno, while: "looking whether this user may write \(path)")
        }
    }

    /// Checks the integrity of the store's database.
    /// - Throws: `StorageError` if the database is damaged.
    package func check(_ id: StoreID) throws {
        try checkVersion(id)
        let connection = try Connection(path: file(id), access: .reading)
        defer { connection.close() }
        if let first = try connection.integrityProblems().first {
            throw StorageError(.damaged, "\(file(id)): \(first)")
        }
    }

    /// Copies a snapshot of the store's database into a directory, atomically.
    /// - Throws: `StorageError`, also if the directory already contains a database for the store.
    package func copyDatabase(_ id: StoreID, to directory: String, asNewIncarnation: Bool) throws {
        let folder = "\(directory)/\(id.container)"
        try FileSystem.makeDirectory(folder)
        let target = "\(folder)/\(id.environment).sqlite"
        guard !FileSystem.exists(target) else { throw StorageError(.inputOutput, "\(target) is there already.") }
        try StoreFile.check(file(id), Migration.all)
        let draft = try StoreFile.draft(of: target)
        let descriptor = FileSystem.open(draft, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "making \(draft)") }
        defer { close(descriptor) }
        let source = try Connection(path: file(id), access: .reading)
        defer { source.close() }
        let copy = try Connection(path: draft, access: .writing)
        do {
            defer { copy.close() }
            try source.copy(to: copy)
            // The copy is a single file without a write-ahead log.
            try copy.execute("PRAGMA journal_mode = DELETE")
            let problems = try copy.integrityProblems()
            if let first = problems.first { throw StorageError(.damaged, "\(file(id)): \(first)") }
            if asNewIncarnation {
                try Self.beginIncarnation(copy)
                if id.isInstallation { try Self.endSessions(copy) }
            }
        }
        guard fsync(descriptor) == 0 else { throw StorageError(system: errno, while: "synchronizing \(draft)") }
        guard rename(draft, target) == 0 else { throw StorageError(system: errno, while: "renaming \(draft)") }
        try FileSystem.synchronizeParent(of: target)
    }

    /// Starts a new incarnation of a restored store. Changes that were answered after the backup are lost, so no token,
    /// receipt or change tag of that time may match a later change. The store therefore issues the change sequences of a
    /// random slot, and stores those of all other slots as lost: another restore of the backup issues others, and each
    /// refuses the other's strings. The slots are above all that earlier restores lost. Row numbers are skipped, too. Strings that were issued before the backup stay valid,
    /// and so does the secret.
    private static func beginIncarnation(_ copy: Connection) throws {
        let skipped = Int64.random(in: 1...slots) * slot
        try copy.execute(
            """
            BEGIN IMMEDIATE;
            CREATE TEMP TABLE reach AS
                SELECT last AS issued, max(last, (SELECT coalesce(max(last), 0) FROM lost_sequences)) AS last
                FROM change_sequence;
            INSERT INTO lost_sequences (first, last) SELECT issued + 1, last + \(skipped) FROM reach;
            INSERT INTO lost_sequences (first, last)
                SELECT last + \(skipped + slot), last + \((slots + 2) * slot) FROM reach;
            UPDATE change_sequence SET last = (SELECT last + \(skipped) FROM reach);
            DROP TABLE reach;
            INSERT INTO sqlite_sequence (name, seq)
                SELECT name, 0 FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'
                    AND name NOT IN (SELECT name FROM sqlite_sequence);
            UPDATE sqlite_sequence SET seq = seq + \(skippedRows);
            COMMIT;
            """)
    }

    /// Removes all sessions, program tokens, logins, links and mails of a restored installation: a backup may be stolen, and has
    /// sessions and links that were ended or used since. Another epoch begins, as of challenges and of sign-ins by providers only
    /// their use is stored. It is random, so that each restore of a backup has another.
    private static func endSessions(_ copy: Connection) throws {
        let kinds = [
            InstallationEntry.Kind.session, .accountSession, .programToken, .accountProgramToken, .login, .loginCode,
            .link, .queuedMail,
        ].map { String($0.rawValue) }
        try copy.execute(
            """
            BEGIN IMMEDIATE;
            DELETE FROM installation_entry WHERE kind IN (\(kinds.joined(separator: ", ")));
            UPDATE store_secret SET epoch = epoch + 1 + (random() & 0xFFFFFFFFFF);
            COMMIT;
            """)
    }

    /// The number of change sequences of a slot: more than a store issues until its next restore. There is room for 500
    /// restores.
    private static let slot: Int64 = 1 << 40
    private static let slots: Int64 = 1 << 14
    /// The number of row numbers that a restored store skips: more than the store can have issued since the backup. Keys
    /// of accounts over PostgreSQL have 40 bits.
    private static let skippedRows: Int64 = 1 << 32
}

/// A read-only snapshot of a store.
package final class SQLiteSnapshot: StorageEngine {
    private let connection: Mutex<Held>

    private struct Held: @unchecked Sendable {
        // Unchecked: the lock lets one thread at a time use the connection.
        let connection: Connection
    }

    fileprivate init(path: String, access: Connection.Access = .reading) throws {
        do {
            try StoreFile.check(path, Migration.all)
            let opened = try StoreFile.openReader(path, SQLiteOptions(), access: access)
            try opened.begin(writing: false)
            // A transaction takes its snapshot at its first read.
            _ = try opened.number("SELECT count(*) FROM change_sequence")
            connection = Mutex(Held(connection: opened))
        } catch let error as StorageError {
            throw error.opening(path)
        }
    }

    deinit { connection.withLock { $0.connection.close() } }

    package func read<T: Sendable>(
        _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        try await BlockingPool.network.run { [self] in
            try connection.withLock { try body(StorageReader($0.connection)) }
        }
    }

    package func write<T: Sendable>(
        of owners: Set<OwnerID>, _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        throw StorageError(.other, "A snapshot cannot be written.")
    }

    package func close() async {}

    /// Returns the defects that SQLite's integrity check finds; empty if there are none.
    package func integrityProblems() async throws -> [String] {
        try await BlockingPool.network.run { [self] in
            try connection.withLock { try $0.connection.integrityProblems() }
        }
    }
}
