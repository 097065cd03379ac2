package import NephosStorage

/// A provider of stores in memory. Each store is empty when it is opened and lost when it is closed.
package struct MemoryStores: StoreProvider {
    private let options: SQLiteOptions

    package init(options: SQLiteOptions = SQLiteOptions()) {
        self.options = options
    }

    package func open(_ id: StoreID) throws -> any StorageEngine {
        try SQLiteEngine(inMemory: options)
    }

    /// A directory of temporary files that is removed with the store.
    package func assets(of id: StoreID) throws -> any AssetStore {
        AssetDirectory(temporary: String(UInt64.random(in: .min ... .max), radix: 36))
    }

    package var blanks: (any StoreProvider)? { self }

    package func existingStores() -> [StoreID] { [] }

    package func close() {}
}
