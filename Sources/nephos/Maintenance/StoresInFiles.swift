import Glibc
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
        _ path: String, remedy: String = "Reach a running one of these servers with '--url URL', or '--socket FILE'."
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

    /// Opens the stores of a database whose files of assets are in a data directory.
    /// - Throws: `StorageError`, `.constraint` if the directory has stores that were not moved to the database.
    static func database(
        _ address: PostgresAddress, _ options: PostgresOptions, assets path: String?,
        blanks: (any StoreProvider)? = nil, for use: PostgresStores.Use = .command
    ) throws -> PostgresStores {
        if let path { try checkAreMoved(path, to: address, options) }
        return try PostgresStores(address, options: options, assets: path, blanks: blanks, for: use)
    }

    /// Refuses a directory with stores that a database lacks, before a server marks them as out of date. Changes neither.
    static func checkAreMoved(_ path: String, to address: PostgresAddress, _ options: PostgresOptions) throws {
        guard !PostgresStores.isOfDatabase(directory: path), access(path, R_OK | X_OK) == 0 else { return }
        let stores = try StoredDirectory(path: path).existingStores()
        if stores.isEmpty { return }
        let moved = try PostgresStores.existingStores(at: address, options)
        let missing = stores.filter { !moved.contains($0) }.map(\.text)
        if missing.isEmpty { return }
        throw StorageError(
            .constraint,
            """
            \(path) has stores that are not in the database: \(list(missing)). 'nephos migrate --from \(path) --to \
            postgresql://USER@HOST/DATABASE' copies them there; or name another directory with '--data'. Nothing was changed.
            """)
    }

    private static func list(_ stores: [String]) -> String {
        stores.prefix(5).joined(separator: "; ") + (stores.count > 5 ? "; and \(stores.count - 5) more" : "")
    }

    /// Refuses to move the stores of a directory of servers over PostgreSQL, and says if the database has none of them.
    static func checkAreNotMoved(_ path: String, to address: PostgresAddress, _ options: PostgresOptions) throws {
        guard PostgresStores.isOfDatabase(directory: path) else { return }
        let stores = try StoredDirectory(path: path).existingStores().filter { !$0.isInstallation }
        if !stores.isEmpty, let moved = try? PostgresStores.existingStores(at: address, options),
            !stores.contains(where: moved.contains)
        {
            throw StorageError(
                .constraint,
                """
                \(path) has the file \(PostgresStores.directoryFile), so its stores count as out of date, but the database has \
                none of its containers: a server over a database was started with this directory before they were moved. If \
                they are in no other database either, stop that server, remove the file, and migrate to an empty database.
                """)
        }
        try checkIsNoDatabase(path, remedy: "Name a container that was not moved yet with '--container ID'.")
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
