import CSQLite
import Glibc
import NephosStorage
import Synchronization

/// One connection to a SQLite database, used by one thread at a time.
final class Connection: QueuedConnection {
    enum Access {
        case reading, writing
        /// Reads, and makes no log where there is none: then no server runs.
        case inspecting
    }

    static let dialect = SQLDialect(
        key: "INTEGER PRIMARY KEY AUTOINCREMENT", rowKey: "INTEGER PRIMARY KEY", integer: "INTEGER", text: "TEXT",
        bytes: "BLOB", clustered: "WITHOUT ROWID")

    private let handle: OpaquePointer
    private var statements = [Statement?](repeating: nil, count: SQL.allCases.count)
    private var beginReading: Statement?
    private var beginWriting: Statement?
    private var commitStatement: Statement?
    private var rollbackStatement: Statement?
    var tombstoneStatements: TombstoneStatements?
    private var isOpen = true
    private var checkpointer: Checkpointer?
    /// The checkpoints after which a reader maps the file anew, and their number when it last did.
    private var mapped: (after: IdleCheckpoints, count: Int)?
    private let damage: DamageLog?
    let meter = ReadMeter()

    /// The number of instructions between two counts of SQLite's work: about ten microseconds.
    private static let instructionsPerCount: Int32 = 1000

    /// Opens an existing database; the path `:memory:` opens a new one in memory.
    /// - Parameter damage: the log that receives damaged records; nil for none.
    init(path: String, access: Access, damage: DamageLog? = nil) throws {
        self.damage = damage
        var handle: OpaquePointer?
        let fixed = access == .writing ? nil : Self.addressOfFixed(path, access)
        let mode = access == .writing ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        // One thread uses the connection at a time, so SQLite need not lock it.
        let flags = mode | (fixed == nil ? 0 : SQLITE_OPEN_URI) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(fixed ?? path, &handle, flags, nil)
        guard code == SQLITE_OK, let handle else {
            let message = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
            sqlite3_close_v2(handle)
            throw StorageError(sqlite: code, message: message, while: "opening \(path)")
        }
        self.handle = handle
        sqlite3_busy_timeout(handle, 5000)
        // In memory, the writer's connection also reads.
        guard access != .writing || path == ":memory:" else { return }
        // The connection retains the meter, so the unretained pointer stays valid.
        sqlite3_progress_handler(
            handle, Self.instructionsPerCount,
            { meter in
                guard let meter else { return 0 }
                let count = Int(Connection.instructionsPerCount)
                return Unmanaged<ReadMeter>.fromOpaque(meter).takeUnretainedValue().take(instructions: count) ? 1 : 0
            }, Unmanaged.passUnretained(meter).toOpaque())
    }

    deinit {
        close()
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        // The connection that closes last checkpoints and removes the log. The checkpointer must close before this one.
        checkpointer?.stop()
        for statement in statements { statement?.finalize() }
        for statement in [beginReading, beginWriting, commitStatement, rollbackStatement] { statement?.finalize() }
        tombstoneStatements?.finalize()
        sqlite3_close_v2(handle)
    }

    // MARK: Statements

    func prepare(_ sql: SQL) throws -> any SQLStatement {
        if let statement = statements[sql.rawValue] { return statement }
        let statement = try Statement(sql.text, database: handle, meter)
        statements[sql.rawValue] = statement
        return statement
    }

    /// Prepares a statement for a single use. The caller finalizes it.
    func prepare(text: String) throws -> Statement {
        try Statement(text, database: handle, meter)
    }

    func execute(_ script: String) throws {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw StorageError(sqlite: code, message: String(cString: sqlite3_errmsg(handle)), while: script)
        }
    }

    /// Returns the integer result of a query, such as a pragma's value or a count.
    func number(_ query: String) throws -> Int64 {
        let statement = try prepare(text: query)
        defer { statement.finalize() }
        return try statement.step() ? statement.integer(0) : 0
    }

    /// The address of a file on a read-only file system, which no process can change: SQLite could not make the files that
    /// readers share there. Also that of a file to be inspected, beside which none is to be made. Nil for any other file, and
    /// for one with a log, which has to be read with it.
    private static func addressOfFixed(_ path: String, _ access: Access) -> String? {
        let isReadOnly = Glibc.access(path, W_OK) != 0 && errno == EROFS
        guard
            isReadOnly
                ? FileSystem.size("\(path)-wal") == 0 : access == .inspecting && !FileSystem.exists("\(path)-wal")
        else { return nil }
        var address = "file:"
        for character in path {
            switch character {
            case "%": address += "%25"
            case "?": address += "%3f"
            case "#": address += "%23"
            default: address.append(character)
            }
        }
        return address + "?immutable=1"
    }

    // MARK: Copies

    /// Copies a snapshot of the database into an empty database, by SQLite's backup interface.
    func copy(to target: Connection) throws {
        guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
            let code = sqlite3_extended_errcode(target.handle)
            throw StorageError(sqlite: code, message: String(cString: sqlite3_errmsg(target.handle)), while: "copying")
        }
        // Copies all pages in one step, which reads a snapshot. So the copy blocks no writer, and no write restarts it.
        let code = sqlite3_backup_step(backup, -1)
        let end = sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE, end == SQLITE_OK else {
            let failure = code == SQLITE_DONE ? end : code
            throw StorageError(sqlite: failure, message: String(cString: sqlite3_errstr(failure)), while: "copying")
        }
    }

    /// Returns the first defects that SQLite's integrity check finds. One that ends the check is the last of them.
    func integrityProblems() throws -> [String] {
        let statement = try prepare(text: "PRAGMA integrity_check(20)")
        defer { statement.finalize() }
        var problems: [String] = []
        do {
            while try statement.step() { problems.append(statement.text(0)) }
        } catch let error as StorageError where error.code == .damaged {
            return problems + [error.message]
        }
        return problems == ["ok"] ? [] : problems
    }

    // MARK: Transactions

    func begin(writing: Bool) throws {
        if writing {
            try run(&beginWriting, "BEGIN IMMEDIATE")
        } else {
            mapAnewIfDue()
            try run(&beginReading, "BEGIN")
        }
    }

    func commit() throws {
        try run(&commitStatement, "COMMIT")
    }

    func rollback() {
        guard isInTransaction else { return }
        try? run(&rollbackStatement, "ROLLBACK")
    }

    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    private func run(_ statement: inout Statement?, _ text: String) throws {
        let prepared = try statement ?? Statement(text, database: handle, meter)
        statement = prepared
        defer { prepared.reset() }
        _ = try prepared.step()
    }

    func noteDamage(_ record: RecordRowView) { damage?.note(record) }

    // MARK: Mapped reads

    /// Lets a reader map the whole file after each idle checkpoint. SQLite itself maps it anew only after a commit, and
    /// would read the pages that the checkpoint appended through its cache, with a copy of each.
    func mapAnew(after checkpoints: IdleCheckpoints, since count: Int) { mapped = (checkpoints, count) }

    private func mapAnewIfDue() {
        guard let (checkpoints, count) = mapped else { return }
        let current = checkpoints.count.load(ordering: .acquiring)
        if current == count { return }
        mapped?.count = current
        // Each call exchanges the limit. The first one ends the mapping.
        var limit: Int64 = 0
        for _ in 0..<2 { sqlite3_file_control(handle, "main", SQLITE_FCNTL_MMAP_SIZE, &limit) }
    }

    // MARK: The write-ahead log

    /// Delegates all further checkpoints to `checkpointer`.
    func use(_ checkpointer: Checkpointer) {
        // The connection retains the checkpointer, so the unretained pointer stays valid.
        self.checkpointer = checkpointer
        sqlite3_wal_hook(
            handle,
            { closure, handle, _, pages in
                guard let closure else { return SQLITE_OK }
                let checkpointer = Unmanaged<Checkpointer>.fromOpaque(closure).takeUnretainedValue()
                checkpointer.committed(pages: Int(pages)) { Connection.checkpoint(handle) }
                return SQLITE_OK
            }, Unmanaged.passUnretained(checkpointer).toOpaque())
    }

    var idleCheckpoints: IdleCheckpoints? { checkpointer?.idleCheckpoints }

    var checkpointNanoseconds: Int64 { checkpointer?.commitNanoseconds ?? 0 }

    /// Calls `body` after every checkpoint of an idle store.
    func afterIdleCheckpoint(_ body: @escaping @Sendable () -> Void) { checkpointer?.afterIdleCheckpoint(body) }

    /// Checkpoints the log as far as possible without blocking readers or the writer. The next checkpoint retries after
    /// a failure.
    /// - Returns: whether the whole log is checkpointed.
    @discardableResult func checkpoint() -> Bool { Self.checkpoint(handle) }

    @discardableResult private static func checkpoint(_ handle: OpaquePointer?) -> Bool {
        var (pages, moved): (Int32, Int32) = (0, 0)
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, &moved)
        return code == SQLITE_OK && pages == moved
    }

    // MARK: Version

    /// The mark of a Nephos store in a SQLite file's header: "Neph".
    static let applicationID: Int64 = 0x4e65_7068

    func schemaVersion() throws -> Int {
        Int(try number("PRAGMA user_version"))
    }

    func setSchemaVersion(_ version: Int) throws {
        try execute("PRAGMA application_id = \(Self.applicationID); PRAGMA user_version = \(version)")
    }
}
