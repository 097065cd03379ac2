package import NephosStorage

/// Stores in memory: each is empty when it is opened and gone when it is closed.
package struct MemoryStores: StoreProvider {
    private let options: SQLiteOptions

    package init(options: SQLiteOptions = SQLiteOptions()) {
        self.options = options
    }

    package func open(_ id: StoreID) throws -> any StorageEngine {
        try SQLiteEngine(inMemory: options)
    }

    package func existingStores() -> [StoreID] { [] }

    package func close() {}
}
