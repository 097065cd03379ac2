import NephosPostgres
import NephosPostgresTesting
import NephosStorage
import NephosStorageTesting
import Testing

/// The contract's suite over PostgreSQL.
@Suite(.overPostgreSQL, .serialized) struct PostgresConformanceTests {
    @Test(arguments: StorageConformance.checks)
    func `PostgreSQL passes every conformance check`(_ check: StorageCheck) async throws {
        let stores = try TestCluster.stores.get()
        let id = TestCluster.newStore()
        try await check.run(
            StorageUnderTest(keepsData: true, readsDuringWrites: true) { try stores.open(id) })
    }
}

extension StorageCheck: CustomTestStringConvertible {
    public var testDescription: String { description }
}
