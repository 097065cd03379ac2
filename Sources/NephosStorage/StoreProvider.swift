/// Identifies a store: a container in one environment.
package struct StoreID: Hashable, Sendable {
    /// The identifier of the container, such as `iCloud.org.example.App`.
    package var container: String
    /// The name of the environment: `development` or `production`.
    package var environment: String

    package init(container: String, environment: String) {
        self.container = container
        self.environment = environment
    }
}

/// Opens stores by name, in a data directory, in memory, or in a PostgreSQL database.
package protocol StoreProvider: Sendable {
    /// Opens the store, and creates it on first use. The caller closes the engine before it opens the same store again.
    /// - Throws: `StorageError`.
    func open(_ id: StoreID) throws -> any StorageEngine
    /// Returns the storage of the store's asset files. Called once per store, after `open`.
    /// - Throws: `StorageError`.
    func assets(of id: StoreID) throws -> any AssetStore
    /// Returns the existing stores, so that their background work can be resumed.
    func existingStores() throws -> [StoreID]
    /// Returns the stores that are known to exist and whose files are missing.
    func missingStores() throws -> [StoreID]
    /// Returns the existing stores with pending work: a job, a change event, a due notification, or an index to build.
    /// Nil if that is not known without opening them.
    func storesWithWork() throws -> [StoreID]?
    func exists(_ id: StoreID) throws -> Bool
    /// Returns the name of the first live account of each store that has one. Nil if that is not known without opening them.
    func firstAccountNames() throws -> [StoreID: String]?
    /// Whether a closed store keeps its content until it is opened again.
    var keepsStores: Bool { get }
    /// A name that distinguishes these stores from stores elsewhere, for their lifetime. Reading it may block on the
    /// database.
    var identity: String { get throws }
    /// A provider of empty, temporary stores; nil if this provider offers none.
    var blanks: (any StoreProvider)? { get }
    /// The time that requests have spent in waits of the database's; nil if the engine serialises its writes.
    var waits: StorageWaits? { get }
    /// Waits for a lock that the processes of these stores share. Blocks.
    /// - Returns: the lock; nil where no other process has the stores.
    /// - Throws: `StorageError` `.busy` if another holds it for too long.
    func lock(_ name: String) throws -> (any StoreLock)?
    /// - Throws: `StorageError` `.constraint` if `eraseDeletedRows` would be refused.
    func checkErasesDeletedRows() throws
    /// Rewrites what had rows that were deleted, so that no free space has their content. No store may be open.
    /// - Throws: `StorageError` `.inUse` if a reader keeps the former content.
    func eraseDeletedRows() throws
    /// Finds a piece of a container's stores and asset files that is to be removed; the stores are closed in this process. Once
    /// the first piece is removed the stores do not exist, and other processes' requests to them fail with `.removed`. Blocks.
    /// - Parameter limit: the maximum number of rows or files of a piece.
    /// - Returns: nil once nothing is left, and stores of that name can be made again.
    func removalPiece(of container: String, limit: Int) throws -> RemovalPiece?
    /// Closes the resources that all stores share. The stores must be closed before.
    func close()
}

extension StoreProvider {
    package func exists(_ id: StoreID) throws -> Bool { try existingStores().contains(id) }
    package func missingStores() throws -> [StoreID] { [] }
    package func storesWithWork() throws -> [StoreID]? { nil }
    package func firstAccountNames() throws -> [StoreID: String]? { nil }
    package var keepsStores: Bool { false }
    package func checkErasesDeletedRows() throws {}
    package func eraseDeletedRows() throws {}
    package func removalPiece(of container: String, limit: Int) throws -> RemovalPiece? { nil }
    package func lock(_ name: String) throws -> (any StoreLock)? { nil }
    package var identity: String { "" }
    package var blanks: (any StoreProvider)? { nil }
    package var waits: StorageWaits? { nil }
}

/// A lock that is held until it is released, or its process ends.
package protocol StoreLock: Sendable {
    func release()
}

/// The waits of this process since its start.
package struct StorageWaits: Sendable {
    /// The total times in seconds: for a connection to the database, for other writes of the same owner, and for a write
    /// that excludes all others of its store.
    package var connections = 0.0
    package var owners = 0.0
    package var stores = 0.0
    /// The number of writes that the database ended because they waited for each other.
    package var deadlocks = 0

    package init() {}
}
