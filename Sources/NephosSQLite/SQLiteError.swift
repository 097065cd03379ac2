import CSQLite
import NephosStorage

extension StorageError {
    /// Creates the error for a result code of SQLite. Its message contains SQLite's own message and the failed action.
    init(sqlite code: Int32, message: String, while action: String) {
        let name = String(cString: sqlite3_errstr(code))
        let detail = message == name ? message : "\(message) (\(name))"
        self.init(Code(sqlite: code), "SQLite: \(detail), code \(code), while \(action)")
        isDiskFull = code & 0xff == SQLITE_FULL
    }
}

extension StorageError.Code {
    /// Maps a result code, or an extended one, to the error kinds of storage engines.
    init(sqlite code: Int32) {
        switch code & 0xff {
        case SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_NOLFS:
            self = .inputOutput
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
            self = .busy
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT:
            self = .damaged
        case SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_TOOBIG:
            self = .constraint
        default:
            self = .other
        }
    }
}
