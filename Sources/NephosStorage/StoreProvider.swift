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
    /// Returns the existing stores with pending work: a job, a change event, a due notification, or an index to build.
    /// Empty if no other process uses the stores, because the process that deferred work then does it.
    func storesWithWork() throws -> [StoreID]
    func exists(_ id: StoreID) throws -> Bool
    /// Whether a closed store keeps its content until it is opened again.
    var keepsStores: Bool { get }
    /// A name that distinguishes these stores from stores elsewhere, for their lifetime. Reading it may block on the
    /// database.
    var identity: String { get throws }
    /// A provider of empty, temporary stores; nil if this provider offers none.
    var blanks: (any StoreProvider)? { get }
    /// The oldest running transaction that writes, for which change feeds wait, as of the last check; nil if the engine
    /// serialises its writes.
    var horizonHolder: HorizonHolder? { get }
    /// Closes the resources that all stores share. The stores must be closed before.
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

/// A writing transaction that change feeds wait for.
package struct HorizonHolder: Sendable {
    /// The number of seconds for which the transaction has been running; 0 if there is no such transaction.
    package var seconds: Double
    /// The name under which the program that began the transaction connected to the database.
    package var applicationName: String

    package init(seconds: Double, applicationName: String) {
        self.seconds = seconds
        self.applicationName = applicationName
    }
}
