import Foundation
import NephosSQLite
import NephosStorage
import Synchronization
import Testing

/// Records with bytes that changed in the file outside SQLite.
@Suite struct DamageTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let lines = Lines()

    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("store.sqlite")
    }

    private func open() throws -> SQLiteEngine {
        let lines = lines
        return try SQLiteEngine(path: path, options: SQLiteOptions(log: { lines.add($0) }))
    }

    /// Three records under index entries in the order of their names; the middle one is found by what it holds.
    private func makeStore() async throws -> ZoneKey {
        let engine = try open()
        let zone = try await engine.write { transaction in
            let zone = try transaction.insertZone(
                owner: .everyone, name: "Zone", sequence: try transaction.nextSequence()
            ).key
            for (index, name) in ["first", "middle", "last"].enumerated() {
                var row = RecordRow(
                    zone: zone, name: name, type: "Type\(name)", sequence: try transaction.nextSequence(), createdAt: 1,
                    createdBy: 2, modifiedAt: 3, modifiedBy: 4, parent: "parent-\(name)", share: "share-\(name)",
                    fields: Array("fields-\(name)".utf8))
                row.number = try transaction.put(row)
                try transaction.insert(
                    IndexEntryRow(
                        zone: zone, definition: 1, value: [UInt8(index)], name: name, record: row.number.value))
            }
            return zone
        }
        await engine.close()
        return zone
    }

    @Test(arguments: ["Typemiddle", "parent-middle", "share-middle", "fields-middle"])
    func `a record with one flipped byte is damaged in every read, named once, and reveals nothing`(_ text: String)
        async throws
    {
        let zone = try await makeStore()
        try edit(path) { data in
            guard let place = data.range(of: Data(text.utf8)) else {
                Issue.record("no \(text)")
                return
            }
            data[place.upperBound - 1] ^= 0x02
        }
        let engine = try open()
        let ways: [[RecordRow]] = try await engine.read { reader in
            var visited: [RecordRow] = []
            try reader.visitRecords(zone: zone, after: 0, limit: 10, size: .max) { visited.append($0.row) }
            var indexed: [RecordRow] = []
            let all = IndexRange(zone: zone, definition: 1, from: [], to: [0xFF])
            try reader.visitIndexedRecords(all, after: nil, limit: 10, expecting: 10) { record, _ in
                indexed.append(record.row)
                return true
            }
            var byName: [RecordRow] = []
            for name in ["first", "middle", "last"] {
                try reader.visitRecord(zone: zone, named: name) { byName.append($0.row) }
            }
            return [
                try reader.records(zone: zone, after: 0, limit: 10), visited, indexed, byName,
                try ["first", "middle", "last"].compactMap { try reader.record(zone: zone, named: $0) },
                try visited.compactMap { try reader.record($0.number, zone: zone) },
            ]
        }
        for rows in ways {
            #expect(rows.map(\.name) == ["first", "middle", "last"])
            #expect(rows.map(\.isDamaged) == [false, true, false])
            #expect(rows.map(\.sequence) == [2, 3, 4])
            let damaged = try #require(rows.first { $0.isDamaged })
            #expect(damaged.isDeleted && damaged.type.isEmpty && damaged.fields.isEmpty)
            #expect(damaged.parent == nil && damaged.share == nil)
            #expect(rows[0].fields == Array("fields-first".utf8) && rows[2].type == "Typelast")
        }
        await engine.close()
        #expect(lines.all.count == 1)
        #expect(lines.all[0].contains("record middle") && lines.all[0].contains(path))
    }

    @Test func `with any byte of the file changed, every record reads as written or as damaged`() async throws {
        let zone = try await makeStore()
        let whole = try open()
        let written = try await whole.read { try $0.records(zone: zone, after: 0, limit: 10) }
        await whole.close()
        let original = try Data(contentsOf: URL(fileURLWithPath: path))
        // Those of the page that holds the records: all pages are too many for one test.
        let place = try #require(original.range(of: Data("fields-middle".utf8))).lowerBound
        let page = place / 4096 * 4096
        var damaged = 0
        for _ in 0..<150 {
            let offset = Int.random(in: place - 120..<page + 4096)
            let bit = UInt8(1) << Int.random(in: 0..<8)
            var changed = original
            changed[offset] ^= bit
            try changed.write(to: URL(fileURLWithPath: path))
            // The file may be refused as a whole.
            guard let engine = try? open() else { continue }
            let rows = try? await engine.read { reader in
                try written.compactMap { try reader.record(zone: zone, named: $0.name) }
            }
            for row in rows ?? [] {
                damaged += row.isDamaged ? 1 : 0
                #expect(row.isDamaged || written.contains(row), "byte \(offset), bit \(bit)")
            }
            await engine.close()
        }
        #expect(damaged > 0)
    }
}
