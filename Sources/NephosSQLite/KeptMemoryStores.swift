package import NephosStorage
import Synchronization

/// Stores in memory that keep their content when they are closed, so that a service can end and another one start with
/// the same data.
package final class KeptMemoryStores: StoreProvider {
    private struct Kept {
        let engine: SQLiteEngine
        let assets: AssetDirectory
    }

    private let kept = Mutex<[StoreID: Kept]>([:])

    package init() {}

    package func open(_ id: StoreID) throws -> any StorageEngine {
        try kept.withLock { kept in
            if let known = kept[id] { return KeptEngine(known.engine) }
            let engine = try SQLiteEngine(inMemory: SQLiteOptions())
            let name = String(UInt64.random(in: .min ... .max), radix: 36)
            kept[id] = Kept(engine: engine, assets: AssetDirectory(temporary: name, outlivesClose: true))
            return KeptEngine(engine)
        }
    }

    package func assets(of id: StoreID) throws -> any AssetStore {
        guard let assets = kept.withLock({ $0[id]?.assets }) else {
            throw StorageError(.closed, "the stores are closed")
        }
        return assets
    }

    package var blanks: (any StoreProvider)? { MemoryStores() }

    package func existingStores() -> [StoreID] { kept.withLock { Array($0.keys) } }

    package func removalPiece(of container: String, limit: Int) -> RemovalPiece? {
        guard kept.withLock({ $0.keys.contains { $0.container == container } }) else { return nil }
        return RemovalPiece { [self] in
            kept.withLock { kept in kept = kept.filter { $0.key.container != container } }
        }
    }

    package func close() {}

    /// Removes the content of all stores. None may be open.
    package func discard() async {
        let kept = kept.withLock { kept in
            defer { kept = [:] }
            return kept
        }
        for store in kept.values { await store.engine.close() }
    }
}

/// An engine whose store stays open when it is closed.
private final class KeptEngine: StorageEngine {
    private let engine: SQLiteEngine
    private let isClosed = Atomic(false)

    init(_ engine: SQLiteEngine) { self.engine = engine }

    private func checkOpen() throws {
        if isClosed.load(ordering: .acquiring) { throw StorageError(.closed, "the store is closed") }
    }

    func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T {
        try checkOpen()
        return try await engine.read(body)
    }

    func read<T: Sendable>(
        expecting length: ReadLength, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        try checkOpen()
        return try await engine.read(expecting: length, body)
    }

    func write<T: Sendable>(
        of owners: Set<OwnerID>, _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        try checkOpen()
        return try await engine.write(of: owners, body)
    }

    func close() async {
        isClosed.store(true, ordering: .releasing)
        // A store in memory has one queue: what came before has ended.
        _ = try? await engine.read { _ in }
    }
}
