import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosService

struct DiskFailureTests {
    @Test func `a save on a full disk is retryable, and succeeds once space is free`() async throws {
        let stores = FullStores()
        let cloud = TestCloud(ServiceConfiguration(), stores: stores)
        let database = TestDatabase(cloud)
        _ = try await database.modify([.create("kept")])
        stores.isFull.store(true, ordering: .relaxed)
        let error = try #require(
            await #expect(throws: ServiceError.self) { _ = try await database.modify([.create("lost")]) })
        #expect(error.code == .tryAgainLater && error.clientCode == .serviceUnavailable)
        #expect(error.retryAfter == 30)
        #expect(error.reason.contains("storage") && !error.reason.contains("/data"))
        #expect(cloud.log.all.contains { $0.contains("/data is full") })
        stores.isFull.store(false, ordering: .relaxed)
        #expect(try await database.existing("kept", "lost") == ["kept"])
        _ = try await database.modify([.create("lost")])
        #expect(try await database.existing("lost") == ["lost"])
    }
}

/// Stores whose disk can be full, or hang.
final class FullStores: StoreProvider {
    let isFull = Atomic(false)
    let isHanging = Atomic(false)
    let isReadHanging = Atomic(false)
    let writes = Atomic(0)
    private let hanging = Mutex<[CheckedContinuation<Void, Never>]>([])
    /// How many writes and reads hang.
    var hangingCount: Int { hanging.withLock { $0.count } }

    func goOn() {
        isHanging.store(false, ordering: .relaxed)
        isReadHanging.store(false, ordering: .relaxed)
        for continuation in hanging.withLock({ waiting in
            defer { waiting = [] }
            return waiting
        }) { continuation.resume() }
    }

    private let provider: any StoreProvider = MemoryStores()
    let keepsStores: Bool

    init(keepsStores: Bool = false) { self.keepsStores = keepsStores }

    func open(_ id: StoreID) throws -> any StorageEngine { Engine(self, try provider.open(id)) }
    func assets(of id: StoreID) throws -> any AssetStore { try provider.assets(of: id) }
    func existingStores() throws -> [StoreID] { try provider.existingStores() }
    func close() { provider.close() }

    private final class Engine: StorageEngine {
        private let stores: FullStores
        private let engine: any StorageEngine

        init(_ stores: FullStores, _ engine: any StorageEngine) {
            self.stores = stores
            self.engine = engine
        }

        func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T {
            if stores.isReadHanging.load(ordering: .relaxed) {
                await withCheckedContinuation { continuation in stores.hanging.withLock { $0.append(continuation) } }
            }
            return try await engine.read(body)
        }

        func write<T: Sendable>(
            of owners: Set<OwnerID>, _ body: @escaping @Sendable (StorageTransaction) throws -> T
        ) async throws -> T {
            stores.writes.add(1, ordering: .relaxed)
            if stores.isHanging.load(ordering: .relaxed) {
                await withCheckedContinuation { continuation in stores.hanging.withLock { $0.append(continuation) } }
            }
            if stores.isFull.load(ordering: .relaxed) {
                var error = StorageError(.inputOutput, "/data is full")
                error.isDiskFull = true
                throw error
            }
            return try await engine.write(of: owners, body)
        }

        func close() async { await engine.close() }
    }
}
