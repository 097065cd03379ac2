import CSQLite

/// The settings of SQLite that apply to the whole process.
package enum SQLiteLibrary {
    /// Disables SQLite's memory statistics. With them, every allocation on every thread takes the same lock. Callers
    /// use this only in a process that uses SQLite for nothing else, and before its first use.
    package static func dedicate() {
        // SQLite refuses this once it is in use. The statistics then stay on.
        _ = nephos_sqlite3_count_no_memory()
    }
}
