package import NephosStorage

/// A provider that takes the stores from another provider and puts their assets in object storage.
package struct ObjectStorageProvider: StoreProvider {
    private let stores: any StoreProvider
    private let requests: ObjectRequests
    private let spool: String

    /// - Parameters:
    ///   - stores: the provider of everything except assets.
    ///   - spool: a directory for uploads in progress, which no other server uses.
    package init(_ stores: any StoreProvider, _ requests: ObjectRequests, spool: String) {
        self.stores = stores
        self.requests = requests
        self.spool = spool
    }

    package func open(_ id: StoreID) throws -> any StorageEngine { try stores.open(id) }

    package func assets(of id: StoreID) throws -> any AssetStore {
        ObjectAssetStore(requests, id, spool: Self.spool(spool, id))
    }

    /// Returns the directory in a data directory through which uploads to a store are spooled.
    package static func spool(_ directory: String, _ id: StoreID) -> String {
        "\(directory)/\(id.container)/\(id.environment).uploads"
    }

    package func existingStores() throws -> [StoreID] { try stores.existingStores() }
    package func missingStores() throws -> [StoreID] { try stores.missingStores() }
    package func storesWithWork() throws -> [StoreID]? { try stores.storesWithWork() }
    package func exists(_ id: StoreID) throws -> Bool { try stores.exists(id) }
    package var keepsStores: Bool { stores.keepsStores }
    package var identity: String { get throws { try stores.identity } }
    package var blanks: (any StoreProvider)? { stores.blanks }
    package var waits: StorageWaits? { stores.waits }
    package func firstAccountNames() throws -> [StoreID: String]? { try stores.firstAccountNames() }
    package func lock(_ name: String) throws -> (any StoreLock)? { try stores.lock(name) }
    package func checkErasesDeletedRows() throws { try stores.checkErasesDeletedRows() }
    package func eraseDeletedRows() throws { try stores.eraseDeletedRows() }

    package func removalPiece(of container: String, limit: Int) throws -> RemovalPiece? {
        if let piece = try stores.removalPiece(of: container, limit: limit) { return piece }
        if let piece = try RemovalPiece.files(of: container, in: spool, limit: limit) { return piece }
        let objects = try requests.list(after: "", under: "\(container)/", limit: Self.objectsPerPiece).keys
        if objects.isEmpty { return nil }
        return RemovalPiece { [requests] in for object in objects { try requests.delete(object) } }
    }

    /// The maximum number of objects per piece: each takes a round trip.
    private static let objectsPerPiece = 20

    package func close() {
        requests.close()
        stores.close()
    }
}
