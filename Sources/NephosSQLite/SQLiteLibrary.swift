import CSQLite

/// The process-wide SQLite library.
package enum SQLiteLibrary {
    /// Disables SQLite's memory statistics, for which every allocation on every thread takes the same lock. Only for a
    /// process without other uses of SQLite, and before the first use.
    package static func dedicate() {
        // Refused once SQLite is in use; then the statistics stay on.
        _ = nephos_sqlite3_count_no_memory()
    }
}
