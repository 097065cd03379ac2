public import CloudKitLocal
public import Foundation
import NephosPostgres
import NephosStorage

extension LocalCloud {
    /// A cloud whose records are stored durably in a PostgreSQL database. Not part of Apple's API.
    ///
    ///     let cloud = try LocalCloud(storage: "postgresql://localhost/nephos")
    /// - Parameters:
    ///   - storage: the database, as a connection string of PostgreSQL.
    ///   - directory: the directory for asset files; nil for temporary files.
    ///   - acceptsUnsafeServer: whether to accept a server that may lose acknowledged writes, such as a test server.
    /// - Throws: `LocalCloudError`, if the database is unreachable or not permitted.
    public convenience init(storage: String, directory: URL? = nil, acceptsUnsafeServer: Bool = false) throws {
        do {
            let stores = try PostgresStores(
                try PostgresAddress(storage), options: PostgresOptions(acceptsUnsafeServer: acceptsUnsafeServer),
                assets: directory?.path)
            self.init(stores: stores)
        } catch let error as StorageError {
            throw LocalCloudError("The cloud in PostgreSQL cannot be opened: \(error.message)")
        }
    }
}
