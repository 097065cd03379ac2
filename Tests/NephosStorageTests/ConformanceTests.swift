import NephosSQLite
import NephosStorage
import NephosStorageTesting
import Testing

/// The contract's suite on each way in which SQLite is used.
@Suite struct ConformanceTests {
    @Test(arguments: StorageConformance.checks)
    func onDisk(_ check: StorageCheck) async throws {
        try await check.run(try onDisk(.full))
    }

    @Test(arguments: StorageConformance.checks)
    func onDiskWithNormalDurability(_ check: StorageCheck) async throws {
        try await check.run(try onDisk(.normal))
    }

    @Test(arguments: StorageConformance.checks)
    func inMemory(_ check: StorageCheck) async throws {
        let store = StorageUnderTest(keepsData: false, readsDuringWrites: false) {
            try MemoryStores().open(StoreID(container: "iCloud.test", environment: "development"))
        }
        try await check.run(store)
    }

    private func onDisk(_ durability: SQLiteOptions.Durability) throws -> StorageUnderTest {
        let directory = try TemporaryDirectory()
        let path = directory.file("store.sqlite")
        return StorageUnderTest(
            keepsData: true, readsDuringWrites: true,
            damage: { try edit(path) { $0.replaceSubrange(0..<100, with: repeatElement(0x55, count: 100)) } },
            open: { try SQLiteEngine(path: path, options: SQLiteOptions(durability: durability), lease: directory) })
    }
}

extension StorageCheck: CustomTestStringConvertible {
    public var testDescription: String { description }
}
