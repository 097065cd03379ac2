import CSQLite

/// The SQLite library as a whole, which all of a process shares.
package enum SQLiteLibrary {
    /// Makes it Nephos' own: it stops counting the memory it uses, for which every allocation on every thread takes the
    /// same lock. Only for a process that does nothing else with SQLite, and before it does anything.
    package static func dedicate() {
        // Refused once SQLite is in use; then it goes on counting.
        _ = nephos_sqlite3_count_no_memory()
    }
}
