import Foundation
import Testing

@testable import NephosSQLite
@testable import NephosStorage

/// Records that the processor is told to fetch before they are read.
@Suite struct ReadAheadTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let zone = ZoneKey(owner: .everyone, id: 1)

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("store.sqlite")
    }

    private var everything: IndexRange { range(from: []) }

    private func range(from value: [UInt8]) -> IndexRange {
        IndexRange(zone: zone, definition: 1, from: value, to: [255, 255])
    }

    /// A closed store of records of any size, each with an entry in an index.
    private func makeStore(_ count: Int, seed: UInt64) async throws {
        var random = SplitMix(state: seed)
        let sizes = (0..<count).map { _ in [2, 300, 700, 3000, 9000][random.below(5)] }
        let values = (0..<count).map { _ in (0..<random.below(30)).map { _ in UInt8(random.below(256)) } }
        let engine = try SQLiteEngine(path: path, options: SQLiteOptions(durability: .normal))
        try await engine.write { transaction in
            for index in 0..<count {
                let name = "r\(index)"
                let number = try transaction.put(record(zone, name, transaction, bytes: sizes[index]))
                try transaction.insert(
                    IndexEntryRow(zone: zone, definition: 1, value: values[index], name: name, record: number.value))
            }
        }
        await engine.close()
    }

    private func mapping() throws -> FileMapping {
        try #require(FileMapping(path: path, capacity: 1 << 30, resident: 1 << 30))
    }

    private func look(at mapping: FileMapping) {
        for offset in stride(from: 0, to: Int(FileSystem.size(path)), by: 4096) {
            _ = mapping.bytes(at: offset, count: 4096) { Int(FileSystem.size(path)) }
        }
    }

    private func open(_ mapping: FileMapping, aheadFrom: Int = 0) throws -> Connection {
        let connection = try Connection(path: path, access: .reading)
        try connection.read(through: mapping, aheadFrom: aheadFrom)
        _ = try connection.number("SELECT count(*) FROM zone")
        return connection
    }

    /// The numbers of the records of a range, as the storage's reader reads them.
    @discardableResult private func visit(
        _ connection: Connection, _ range: IndexRange, limit: Int, wanted: Int
    ) throws -> [Int64] {
        var records: [Int64] = []
        try SQLReader(connection).visitIndexedRecords(range, after: nil, limit: limit, wanted: wanted) { record, _ in
            records.append(record.number.value)
            return true
        }
        return records
    }

    @Test("Below which pages records are is known once they were read, and then no more are fetched than are wanted")
    func wanted() async throws {
        try await makeStore(3000, seed: 1)
        let mapping = try mapping()
        let connection = try open(mapping)
        let ahead = try #require(connection.recordsAhead as? ReadAhead)
        let records = try visit(connection, everything, limit: .max, wanted: .max)
        #expect(records.count == 3000)
        // The last page of a file is read, not looked at.
        #expect(stride(from: 1, through: 3000, by: 128).allSatisfy { mapping.interiorPages[$0] > 0 })

        try visit(connection, everything, limit: .max, wanted: .max)
        // An inner page's entries are named by no leaf, and the first on a leaf is read before.
        #expect(ahead.fetched > 2500 && ahead.fetched < 3000)
        for wanted in [0, 1, 2, 20] {
            try visit(connection, everything, limit: 200, wanted: wanted)
            #expect(ahead.fetched <= max(0, wanted - 1))
            #expect(wanted < 20 || ahead.fetched > 0)
        }
        connection.close()
    }

    @Test("Nothing is fetched of a file that is smaller than those for which it is worth it")
    func smallFile() async throws {
        try await makeStore(100, seed: 2)
        let size = Int(FileSystem.size(path))
        for (aheadFrom, isExpected) in [(size, true), (size + 1, false), (.max, false)] {
            let connection = try open(mapping(), aheadFrom: aheadFrom)
            #expect((connection.recordsAhead != nil) == isExpected)
            connection.close()
        }
    }

    @Test("What is fetched are the rows of the records that an index names next", arguments: [3, 4, 5] as [UInt64])
    func rows(seed: UInt64) async throws {
        try await makeStore(3000, seed: seed)
        let connection = try open(mapping())
        let view = try #require(connection.view)
        let ahead = try #require(connection.recordsAhead as? ReadAhead)
        try visit(connection, everything, limit: .max, wanted: 0)
        try connection.begin(writing: false)
        var random = SplitMix(state: seed)
        var (wanted, found) = (0, 0)
        for _ in 0..<200 {
            view.indexLeaf = nil
            var leaf: UnsafeRawPointer?
            let contents = try read(connection, from: [UInt8(random.below(256))], limit: 120) {
                leaf = leaf ?? view.indexLeaf
            }
            guard let first = contents.first?.record, let leaf else { continue }
            let page = TreePage(bytes: leaf, size: view.pageSize)
            let named = (0..<page.cellCount).compactMap { page.lastNumber($0) }
            let next = named.drop { $0 != first }.dropFirst().prefix(50)
            let rows = (0..<ahead.find(behind: first, in: leaf, atMost: 50)).compactMap { ahead.row($0) }
            let numbers = Set(rows.map(\.record))
            #expect(rows.map(\.record) == next.filter { numbers.contains($0) })
            for (record, content) in contents {
                guard let row = rows.first(where: { $0.record == record }) else { continue }
                #expect(isIn(row.bytes, content))
            }
            wanted += next.count
            found += rows.count
        }
        // Missing are some of those whose 128 are below two pages, and those on the last page, which is not looked at.
        #expect(wanted > 1000 && found > wanted / 20 * 17, "\(found) of \(wanted)")
        try connection.commit()
        connection.close()
    }

    /// Whether a row ends with its content, behind the other columns; what does not fit on the page is on others.
    private func isIn(_ row: UnsafeRawBufferPointer, _ content: [UInt8]) -> Bool {
        content.count < 3500 ? row.suffix(content.count).elementsEqual(content) : row.count > 400 && row.count < 4096
    }

    /// The records of the index's entries from a value on.
    private func read(
        _ connection: Connection, from value: [UInt8], limit: Int64, _ passed: () -> Void
    ) throws -> [(record: Int64, content: [UInt8])] {
        let statement = try connection.prepare(.indexedRecords)
        defer { statement.reset() }
        try statement.bind(zone.owner.rawValue).bind(zone.id).bind(1 as Int64).bind(value).bind([255, 255]).bind(limit)
        var records: [(Int64, [UInt8])] = []
        while try statement.step() {
            records.append((statement.integer(3), statement.bytes(2)))
            passed()
        }
        return records
    }

    @Test("What is not known is not gone to")
    func none() async throws {
        try await makeStore(200, seed: 6)
        let mapping = try mapping()
        let connection = try open(mapping)
        look(at: mapping)
        let ahead = try #require(connection.recordsAhead as? ReadAhead)
        let pages = (1..<Int(FileSystem.size(path)) / 4096).compactMap { mapping.seenBytes(at: $0 * 4096, count: 4096) }
        func last(_ kind: TreePage.Kind) throws -> UnsafeRawPointer {
            try #require(pages.last { TreePage(bytes: $0, size: 4096).kind == kind })
        }
        let (index, table, interior) = (try last(.indexLeaf), try last(.tableLeaf), try last(.tableInterior))
        let first = try #require(TreePage(bytes: index, size: 4096).lastNumber(0))
        let second = try #require(TreePage(bytes: index, size: 4096).lastNumber(1))
        func set(_ page: Int) {
            for record in [Int64](1...200) { mapping.interiorPages[record] = page }
        }

        #expect(ahead.find(behind: first, in: index, atMost: 50) == 0, "records that were not seen")
        set(mapping.offset(of: interior) / 4096 + 1)
        #expect(ahead.find(behind: first, in: index, atMost: 1) == 1)
        #expect(ahead.row(0)?.record == second)
        #expect(ahead.find(behind: first, in: index, atMost: 0) == 0)
        #expect(ahead.find(behind: 1_000_000, in: index, atMost: 50) == 0, "a record that the leaf does not name")
        #expect(ahead.find(behind: first, in: table, atMost: 50) == 0, "a page of a table")
        set(1 << 31)
        #expect(ahead.find(behind: first, in: index, atMost: 50) == 0, "a page behind the end")
        for page in [index, table] {
            set(mapping.offset(of: page) / 4096 + 1)
            #expect(ahead.find(behind: first, in: index, atMost: 50) == 0, "a page without pages below")
        }
        connection.close()
    }

    @Test("Whatever the pages are, nothing is read but pages of the file", arguments: [7, 8, 9] as [UInt64])
    func anyPages(seed: UInt64) async throws {
        try await makeStore(1000, seed: seed)
        let sound = try Data(contentsOf: URL(filePath: path))
        var random = SplitMix(state: seed)
        var found = 0
        for round in 0..<12 {
            // Damage all over, from none to one byte in fifty.
            var bytes = sound
            for _ in 0..<bytes.count / 600 * round { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            try bytes.write(to: URL(filePath: path))
            let mapping = try mapping()
            look(at: mapping)
            let view = FileView(mapping)
            view.pageSize = 4096
            let ahead = ReadAhead(view)
            let count = bytes.count / 4096
            let pages = (0..<count).compactMap { mapping.seenBytes(at: $0 * 4096, count: 4096) }
            let interior = pages.indices.filter { TreePage(bytes: pages[$0], size: 4096).kind == .tableInterior }
            for leaf in pages where TreePage(bytes: leaf, size: 4096).kind == .indexLeaf {
                let page = TreePage(bytes: leaf, size: 4096)
                for cell in [0, page.cellCount / 2] {
                    guard let number = page.lastNumber(cell) else { continue }
                    for record in stride(from: Int64(1), through: 1000, by: 128) {
                        let likely = interior.isEmpty ? 0 : interior[random.below(interior.count)] + 1
                        mapping.interiorPages[record] = [likely, random.below(count + 4)][random.below(2)]
                    }
                    for index in 0..<ahead.find(behind: number, in: leaf, atMost: random.below(300)) {
                        guard let row = ahead.row(index) else { continue }
                        found += 1
                        let start = mapping.offset(of: try #require(row.bytes.baseAddress))
                        #expect(start >= 0 && start + row.bytes.count <= bytes.count)
                    }
                }
            }
        }
        #expect(found > 100, "seed \(seed)")
    }
}
