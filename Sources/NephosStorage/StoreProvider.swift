/// Identifies a store: a container in one environment.
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
    /// Opens the store, creating it on first use. Not called again before that engine is closed.
    /// - Throws: `StorageError`.
    func open(_ id: StoreID) throws -> any StorageEngine
    /// The storage of the store's asset files. Called once per store, after `open`.
    /// - Throws: `StorageError`.
    func assets(of id: StoreID) throws -> any AssetStore
    /// The existing stores, whose background work has to be resumed.
    func existingStores() throws -> [StoreID]
    /// The existing stores with pending work: a job, a change event, a due notification, an index to build. Empty if no
    /// other process uses the stores: then the process that deferred the work does it.
    func storesWithWork() throws -> [StoreID]
    /// Whether the store exists.
    func exists(_ id: StoreID) throws -> Bool
    /// Whether a closed store keeps its content until it is reopened.
    var keepsStores: Bool { get }
    /// Distinguishes these stores from those in other places, for their lifetime. It may wait for the database.
    var identity: String { get throws }
    /// Opens empty, temporary stores; nil if the provider has none.
    var blanks: (any StoreProvider)? { get }
    /// The oldest transaction that writes, for which change feeds wait, as it was found last; nil where writes come one after
    /// another.
    var horizonHolder: HorizonHolder? { get }
    /// Closes the resources that all stores share, after the stores are closed.
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
