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
    /// Opens the store, making it on first use. It is not called again before that engine was closed.
    /// - Throws: `StorageError`.
    func open(_ id: StoreID) throws -> any StorageEngine
    /// Where the files of the store's assets are. Called once per store, after `open`.
    /// - Throws: `StorageError`.
    func assets(of id: StoreID) throws -> any AssetStore
    /// The stores that exist already, whose background work has to be resumed.
    func existingStores() throws -> [StoreID]
    /// Those of them that have something to do: a job, a change to tell, a notification that is due, an index to build. Empty
    /// where no other process has the stores: then the one that left it does it.
    func storesWithWork() throws -> [StoreID]
    /// Whether the store was made.
    func exists(_ id: StoreID) throws -> Bool
    /// Whether a store that is closed has what it held when it is opened again.
    var keepsStores: Bool { get }
    /// What tells these stores from those in other places, for as long as they are kept. It may wait for the database.
    var identity: String { get throws }
    /// Opens stores that are empty and kept nowhere; nil where the provider has none.
    var blanks: (any StoreProvider)? { get }
    /// The oldest transaction that writes, for which change feeds wait, as it was found last; nil where writes come one after
    /// another.
    var horizonHolder: HorizonHolder? { get }
    /// Closes what is shared by all stores, once they are closed.
    func close()
}

extension StoreProvider {
    package func exists(_ id: StoreID) throws -> Bool { try existingStores().contains(id) }
    package func storesWithWork() throws -> [StoreID] { [] }
    package var keepsStores: Bool { false }
    package var identity: String { "" }
    package var blanks: (any StoreProvider)? { nil }
    package var horizonHolder: HorizonHolder? { nil }
}

/// A transaction that change feeds wait for.
package struct HorizonHolder: Sendable {
    /// How long it has been running; 0 where there is none.
    package var seconds: Double
    /// What the program calls itself that began it.
    package var applicationName: String

    package init(seconds: Double, applicationName: String) {
        self.seconds = seconds
        self.applicationName = applicationName
    }
}
