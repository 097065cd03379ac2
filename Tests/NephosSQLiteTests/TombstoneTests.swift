import NephosStorage
import Testing

@testable import NephosSQLite

/// The space of deleted records in a file.
@Suite struct TombstoneTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("store.sqlite")
    }

    /// Runs `body` on the store, and returns how many pages of its file are used.
    private func used(_ body: (SQLiteEngine) async throws -> Void) async throws -> Int64 {
        let engine = try SQLiteEngine(path: path)
        try await body(engine)
        await engine.close()
        let connection = try Connection(path: path, access: .reading)
        defer { connection.close() }
        return try connection.number("PRAGMA page_count") - connection.number("PRAGMA freelist_count")
    }

    @Test(arguments: [300, 1000, 3400])
    func `a deleted record frees its page, which the next record takes`(bytes: Int) async throws {
        let (count, rounds) = (400, 3)
        let empty = try await used { _ in }
        let full = try await used { _ = try await $0.fill(count, bytes: bytes) }
        for _ in 0..<rounds {
            let left = try await used { engine in
                try await engine.write { transaction in
                    guard let zone = try transaction.zone(owner: .everyone, named: "Zone") else { return }
                    for row in try transaction.records(zone: zone.key, after: 0, limit: 10 * count) where !row.isDeleted
                    {
                        var tombstone = row
                        (tombstone.isDeleted, tombstone.fields) = (true, [])
                        tombstone.sequence = try transaction.nextSequence()
                        let number = try transaction.put(tombstone)
                        #expect(number == row.number)
                    }
                }
            }
            #expect(left - empty < (full - empty) / 2)
            let again = try await used { engine in
                try await engine.write { transaction in
                    guard let zone = try transaction.zone(owner: .everyone, named: "Zone") else { return }
                    for index in 0..<count {
                        var row = try record(zone.key, "r\(index)", transaction, bytes: bytes)
                        row.number = try transaction.record(zone: zone.key, named: row.name)?.number ?? row.number
                        try transaction.put(row)
                    }
                }
            }
            #expect(again < full + full / 4)
        }
    }
}
