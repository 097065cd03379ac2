import NephosPostgres
import NephosSQLite
import NephosService
import NephosStorage

/// The stores in the files of a data directory. Where servers over PostgreSQL have a directory for the files of assets, stores
/// in it are out of date: they are those of before `nephos migrate`. Commands that took them for the servers' would say that
/// something is done that no server knows of, or delete files that the database names.
enum StoresInFiles {
    /// The option that names the database of such servers, for commands that have it.
    static let storageOption = "their '--storage postgresql://USER@HOST/DATABASE'"

    /// Opens a data directory, with the lock of a server.
    /// - Parameter remedy: what to do instead if it is one of servers over PostgreSQL.
    /// - Throws: `StorageError`.
    static func open(
        _ path: String, remedy: String = "Reach a running one of these servers with '--url URL'."
    ) throws -> DataDirectory {
        try check(path, remedy: remedy)
        return try DataDirectory(path: path, options: SQLiteOptions(log: ServiceEnvironment.system.log))
    }

    /// Refuses the directory of servers over PostgreSQL, and one into which stores were copied in part.
    /// - Parameter remedy: what to do instead of the former.
    /// - Throws: `StorageError` `.constraint`.
    static func check(_ path: String, remedy: String) throws {
        try UnfinishedCopy(directory: path).check()
        try checkIsNoDatabase(path, remedy: remedy)
    }

    /// Refuses the directory of servers over PostgreSQL.
    static func checkIsNoDatabase(_ path: String, remedy: String) throws {
        guard PostgresStores.isOfDatabase(directory: path) else { return }
        throw StorageError(
            .constraint,
            """
            \(path) has files of servers whose stores are in PostgreSQL: the file \(PostgresStores.directoryFile) in it says \
            so. Stores that are in it, too, are out of date. \(remedy) Remove that file only where no such server has the \
            directory any more.
            """)
    }
}
