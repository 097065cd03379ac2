import NephosSQLite
import NephosStorage
import NephosStorageTesting
import Testing

@Suite struct StoreAlternationTests {
    @Test func `a store on disk keeps its own rows after every outcome of another's transaction`() async throws {
        let directory = try TemporaryDirectory()
        let alternation = try await StoreAlternation(try DataDirectory(path: directory.file("data")))
        try await alternation.check(StoreAlternation.endings)
        await alternation.close()
    }

    @Test func `a store in memory keeps its own rows after every outcome of another's transaction`() async throws {
        for provider in [MemoryStores(), KeptMemoryStores()] as [any StoreProvider] {
            let alternation = try await StoreAlternation(provider)
            try await alternation.check(StoreAlternation.endings)
            await alternation.close()
        }
    }

    @Test func `kept stores in memory are closed when they are discarded`() async throws {
        let stores = KeptMemoryStores()
        let engine = try stores.open(StoreID(container: "iCloud.test", environment: "development"))
        try await engine.read { _ in }
        await stores.discard()
        await #expect(throws: StorageError.self) { try await engine.read { _ in } }
        #expect(stores.existingStores().isEmpty)
    }
}
