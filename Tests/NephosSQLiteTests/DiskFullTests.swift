import Testing

@testable import NephosSQLite
@testable import NephosStorage

@Suite struct DiskFullTests {
    @Test func `a full disk fails a write that does not fit, keeps acknowledged writes and allows small ones`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let connection = try StoreFile.open(directory.file("store.sqlite"), SQLiteOptions())
        try connection.execute("PRAGMA max_page_count = 100")
        let queue = try WriteQueue(connection: connection)
        let zone = ZoneKey(owner: .everyone, id: 1)
        @Sendable func save(_ name: String, bytes: Int) async throws -> StorageError? {
            try await storageError {
                try await queue.write { _ = try $0.put(record(zone, name, $0, bytes: bytes)) }
            }
        }
        let errors = try await withThrowingTaskGroup(of: (Int, StorageError?).self) { group in
            for index in 0..<20 {
                group.addTask { (index, try await save("r\(index)", bytes: index % 5 == 4 ? 1_000_000 : 100)) }
            }
            return try await group.reduce(into: [Int: StorageError]()) { $0[$1.0] = $1.1 }
        }
        for index in stride(from: 4, to: 20, by: 5) {
            #expect(errors[index]?.code == .inputOutput && errors[index]?.isDiskFull == true)
            #expect(errors[index]?.message.contains("full") == true)
        }
        #expect(try await save("after", bytes: 100) == nil)
        let names = try await queue.read { try $0.records(zone: zone, after: 0, limit: 100).map(\.name) }
        #expect(Set(names) == Set((0..<20).filter { errors[$0] == nil }.map { "r\($0)" } + ["after"]))
        await queue.close()
    }
}
