public import CloudKitLocal
public import Foundation
import NephosPostgres
import NephosStorage

extension LocalCloud {
    /// A cloud whose records are in a PostgreSQL database, which keeps them. Not part of Apple's API.
    ///
    ///     let cloud = try LocalCloud(storage: "postgresql://localhost/nephos")
    /// - Parameters:
    ///   - storage: the database, as PostgreSQL's connection strings say it.
    ///   - directory: where the files of assets are kept; nil for temporary ones.
    ///   - acceptsUnsafeServer: whether to use a server that may lose what was answered, as one for tests.
    /// - Throws: `LocalCloudError`, if the database cannot be reached or may not be used.
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
