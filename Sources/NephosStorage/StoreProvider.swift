/// Which store: a container's, in one environment.
package struct StoreID: Hashable, Sendable {
    /// The container's identifier, `iCloud.org.example.App`.
    package var container: String
    /// `development` or `production`.
    package var environment: String

    package init(container: String, environment: String) {
        self.container = container
        self.environment = environment
    }
}

/// Opens stores by name: a data directory, memory, a PostgreSQL server.
package protocol StoreProvider: Sendable {
    /// Opens the store, making it on first use. Called once per store: the caller keeps the engine.
    /// - Throws: `StorageError`.
    func open(_ id: StoreID) throws -> any StorageEngine
    /// The stores that exist already, whose background work has to be resumed.
    func existingStores() throws -> [StoreID]
    /// Closes what is shared by all stores, once they are closed.
    func close()
}
