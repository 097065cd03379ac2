import Dispatch
import NephosSQLite
import NephosStorage
import NephosStorageTesting
import NephosThreads
import Testing

/// The contract's suite in each configuration of SQLite.
@Suite struct ConformanceTests {
    @Test(arguments: StorageConformance.checks)
    func `SQLite on disk passes every conformance check`(_ check: StorageCheck) async throws {
        try await check.run(try onDisk(.full))
    }

    @Test(arguments: StorageConformance.checks)
    func `SQLite on disk with normal durability passes every conformance check`(_ check: StorageCheck) async throws {
        try await check.run(try onDisk(.normal))
    }

    @Test(arguments: StorageConformance.checks)
    func `SQLite in memory passes every conformance check`(_ check: StorageCheck) async throws {
        let store = StorageUnderTest(keepsData: false, readsDuringWrites: false) {
            try MemoryStores().open(StoreID(container: "iCloud.test", environment: "development"))
        }
        try await check.run(store)
    }

    @Test(arguments: StorageConformance.checks)
    func `SQLite in memory that is kept passes every conformance check`(_ check: StorageCheck) async throws {
        let stores = KeptMemoryStores()
        let store = StorageUnderTest(keepsData: true, readsDuringWrites: false) {
            try stores.open(StoreID(container: "iCloud.test", environment: "development"))
        }
        try await check.run(store)
    }

    @Test(arguments: StorageConformance.checks)
    func `SQLite on disk with blocking reads passes every conformance check`(_ check: StorageCheck) async throws {
        let store = try onDisk(.normal)
        let blocking = StorageUnderTest(keepsData: true, readsDuringWrites: true, damage: store.damage) {
            BlockingReads(engine: try store.open())
        }
        try await check.run(blocking)
    }

    private func onDisk(_ durability: SQLiteOptions.Durability) throws -> StorageUnderTest {
        let directory = try TemporaryDirectory()
        let path = directory.file("store.sqlite")
        let options = SQLiteOptions(durability: durability)
        return StorageUnderTest(
            keepsData: true, readsDuringWrites: true,
            damage: { try edit(path) { $0.replaceSubrange(0..<100, with: repeatElement(0x55, count: 100)) } },
            open: { try SQLiteEngine(path: path, options: options, lease: directory) })
    }
}

/// An engine whose reads start on threads that may block, as an HTTP server's do.
private final class BlockingReads: StorageEngine {
    private let engine: any StorageEngine

    init(engine: any StorageEngine) {
        self.engine = engine
    }

    func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T {
        let engine = engine
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                BlockingThread.run {
                    _ = Task.immediate {
                        do {
                            continuation.resume(returning: try await engine.read(body))
                        } catch {
                            continuation.resume(throwing: error)
                        }
                    }
                }
            }
        }
    }

    func write<T: Sendable>(
        of owners: Set<OwnerID>, _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        try await engine.write(of: owners, body)
    }

    func close() async {
        await engine.close()
    }
}

extension StorageCheck: CustomTestStringConvertible {
    public var testDescription: String { description }
}
