import Foundation
import Testing

@testable import NephosSQLite
@testable import NephosStorage

/// Pages of a store's file that readers look at where the system caches them.
@Suite struct FileMappingTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let window = 1 << 16

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("file")
    }

    /// A file with a byte for each window, and a mapping of `capacity` bytes of it, `resident` of them resident.
    private func mapping(windows: Int, capacity: Int? = nil, resident: Int) throws -> FileMapping {
        try write(windows: windows)
        return try #require(
            FileMapping(path: path, capacity: capacity ?? 64 * window, resident: resident * window))
    }

    private func write(windows: Int) throws {
        if !FileManager.default.fileExists(atPath: path) { try makeFile(path) }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        for number in 0..<windows { try file.write(contentsOf: Data(repeating: UInt8(number), count: window)) }
        try file.close()
    }

    private func look(_ mapping: FileMapping, _ windowNumber: Int, offset: Int = 0) -> UInt8? {
        mapping.bytes(at: windowNumber * window + offset, count: 4096) { Int(FileSystem.size(path)) }?
            .load(as: UInt8.self)
    }

    @Test("A page is what the file has there, and none behind its end, until it grows")
    func pages() throws {
        let mapping = try mapping(windows: 3, resident: 100)
        for number in 0..<3 { #expect(look(mapping, number, offset: 8192) == UInt8(number)) }
        #expect(look(mapping, 3) == nil)
        #expect(look(mapping, 2, offset: window - 4096) == nil, "SQLite may read behind a page")
        try write(windows: 5)
        for number in 0..<5 { #expect(look(mapping, number) == UInt8(number)) }
    }

    @Test("What is behind the part of a file that is mapped is read as ever")
    func capacity() throws {
        let mapping = try mapping(windows: 3, capacity: 2 * window, resident: 100)
        #expect(look(mapping, 1) == 1)
        #expect(look(mapping, 2) == nil)
    }

    @Test("No more becomes resident than may, or than three quarters of the file, and others do after a time")
    func resident() throws {
        let mapping = try mapping(windows: 10, resident: 2)
        let seen = (0..<10).filter { look(mapping, $0) == UInt8($0) }
        #expect(seen == Array(0..<7))
        #expect(mapping.residentBytes == 7 * window)
        #expect(seen.allSatisfy { look(mapping, $0) != nil }, "what is resident stays")
        var looks = 0
        while look(mapping, 9) == nil, looks < 100_000 { looks += 1 }
        #expect(look(mapping, 9) == 9)
        #expect(looks > 1000)
        #expect(mapping.residentBytes <= 7 * window)
    }

    @Test("There is no mapping of a file that is not there, or of no bytes")
    func none() throws {
        #expect(FileMapping(path: directory.file("other"), capacity: window, resident: window) == nil)
        try write(windows: 1)
        #expect(FileMapping(path: path, capacity: 0, resident: window) == nil)
    }

    @Test(
        "Readers see every commit, whether its pages are in the log, mapped, not resident or behind what is mapped",
        arguments: [(0, 0), (1 << 20, 1 << 16), (16 << 30, 1 << 16), (16 << 30, 48 << 20)])
    func engine(mapped: Int, resident: Int) async throws {
        let options = SQLiteOptions(
            durability: .normal, readerCache: 64, mapped: mapped, resident: resident, aheadFrom: 0,
            checkpointPages: 50)
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
                    IndexRange(zone: zone, definition: 1, from: [], to: [255]), after: nil, limit: .max, wanted: .max
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
