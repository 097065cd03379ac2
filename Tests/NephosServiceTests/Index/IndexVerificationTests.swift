import NephosPostgres
import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// `nephos verify` compares indexes with records by one rule for every storage engine.
struct IndexVerificationTests {
    @Test func `missing, wrong and orphaned entries are found over SQLite`() async throws {
        try await expectProblems(MemoryStores())
    }

    @Test(.overPostgreSQL, .oneAtATime) func `missing, wrong and orphaned entries are found over PostgreSQL`()
        async throws
    {
        try await expectProblems(
            try PostgresStores(try TestCluster.address.get(), options: TestCluster.options(connections: 2)))
    }

    private func expectProblems(_ stores: any StoreProvider) async throws {
        let cloud = TestCloud(ServiceConfiguration(), stores: stores)
        let database = try await TestDatabase(cloud).making(zone: "Z")
        // More than a page.
        for start in stride(from: 0, to: 1200, by: 200) {
            let operations = (start..<start + 200).map {
                RecordOperation.force(
                    "r\($0)", ["n": .int64(Int64($0)), "tags": .list(of: .string, [.string("a"), .string("b")])])
            }
            _ = try await database.modify(operations)
        }
        for filter in [
            Filter(.field("n"), .greaterThan, .int64(0)), Filter(.field("tags"), .listContains, .string("a")),
        ] {
            let query = Query(recordType: "Note", filterBy: [filter])
            _ = try await cloud.service.queryRecords(
                QueryRecordsRequest(query: query, zoneID: database.zoneID, resultsLimit: 1), database.context)
        }
        await cloud.service.settle()
        let store = try #require(cloud.service.openStores.first)
        func problems() async throws -> [String] {
            try await StoreVerification(store.engine, store.assets.files).run().problems
        }
        #expect(try await problems() == [])

        let zone = try #require(
            try await store.engine.read { try $0.zones(after: 0, limit: 9) }.first { $0.name == "Z" })
        let index = try #require(
            try await store.engine.read { try $0.indexDefinitions() }.first {
                $0.components.contains("n") && $0.isReady
            })
        let entries = try await store.engine.read {
            try $0.indexEntries(
                IndexRange(zone: zone.key, definition: index.id, from: [], to: OrderedBytes.end), after: nil,
                limit: 2000)
        }
        #expect(entries.count == 1200)
        @Sendable func entry(_ value: IndexPosition, _ name: String, _ record: Int64) -> IndexEntryRow {
            IndexEntryRow(zone: zone.key, definition: index.id, value: value.value, name: name, record: record)
        }
        let (lost, moved) = (entries[3], entries[1100])
        try await store.engine.write { transaction in
            try transaction.remove(entry(lost, lost.name, lost.record.value))
            try transaction.insert(entry(entries[7], moved.name, moved.record.value))
            try transaction.insert(entry(entries[9], "gone", 1 << 60))
        }
        let name = "the index '\(index.components)' of type 'Note'"
        #expect(
            try await problems() == [
                "record '\(lost.name)' in zone 'Z' is missing in \(name)",
                "\(name) has record '\(moved.name)' in zone 'Z', which is not so",
                "\(name) has record 'gone' in zone 'Z', which is not so",
            ])
        await cloud.service.close()
    }
}
