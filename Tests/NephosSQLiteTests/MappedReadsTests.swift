import NephosSQLite
import NephosStorage
import Testing

/// Readers that map the file into memory while the writer changes it.
@Suite struct MappedReadsTests {
    @Test(arguments: [0, 1 << 20, 1 << 30])
    func `readers see every commit, whether its pages are in the log, mapped or beyond the map`(mapped: Int)
        async throws
    {
        let directory = try TemporaryDirectory()
        let options = SQLiteOptions(durability: .normal, readerCache: 64, mapped: mapped, checkpointPages: 50)
        let engine = try SQLiteEngine(path: directory.file("store.sqlite"), options: options)
        let zone = ZoneKey(owner: .everyone, id: 1)
        for round in 1...60 {
            try await engine.write { transaction in
                for number in 0..<10 {
                    let name = "\(round)-\(number)"
                    let row = try transaction.put(record(zone, name, transaction, bytes: 4000))
                    // In an order of their own.
                    let value = [UInt8(round * 7 % 64), UInt8(number)]
                    try transaction.insert(
                        IndexEntryRow(zone: zone, definition: 1, value: value, name: name, record: row.value))
                }
                // Some of the records move.
                guard round > 1 else { return }
                _ = try transaction.put(record(zone, "\(round / 2)-3", transaction, bytes: 4000))
            }
            let named = try await engine.read { reader in
                var names: [String] = []
                try reader.visitIndexedRecords(
                    IndexRange(zone: zone, definition: 1, from: [], to: [255]), after: nil, limit: .max, expecting: 10
                ) { record, value in
                    names.append("\(value.bytes[0]) \(record.row.name)")
                    return true
                }
                return names
            }
            var expected: [String] = []
            for round in (1...round).sorted(by: { $0 * 7 % 64 < $1 * 7 % 64 }) {
                for number in 0..<10 { expected.append("\(round * 7 % 64) \(round)-\(number)") }
            }
            #expect(named == expected)
            let rows = try await engine.read { try $0.records(zone: zone, after: 0, limit: 10_000) }
            #expect(rows.count == 10 * round)
            #expect(Set(rows.map(\.name)).count == 10 * round)
            #expect(rows.allSatisfy { $0.fields.count == 4000 })
        }
        await engine.close()
    }
}
