import Foundation
import Testing

@testable import NephosSQLite
@testable import NephosStorage

/// Records that the processor is to fetch before they are read.
@Suite struct ReadAheadTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let zone = ZoneKey(owner: .everyone, id: 1)
    private let seed = UInt64.random(in: .min ... .max)

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("store.sqlite")
    }

    /// A closed store of records of any size, each with an entry in an index.
    private func makeStore(_ count: Int) async throws {
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

    /// A connection that has looked at every page.
    private func open(_ mapping: FileMapping) throws -> Connection {
        let connection = try Connection(path: path, access: .reading)
        try connection.read(through: mapping, aheadFrom: 0)
        _ = try connection.number("SELECT sum(length(content)) FROM record")
        look(at: mapping)
        return connection
    }

    private func look(at mapping: FileMapping) {
        for offset in stride(from: 0, to: FileSystem.size(path), by: 4096) {
            _ = mapping.bytes(at: Int(offset), count: 4096) { Int(FileSystem.size(path)) }
        }
    }

    private func mapping() throws -> FileMapping {
        try #require(FileMapping(path: path, capacity: 1 << 30, resident: 1 << 30))
    }

    /// The records of the index's entries from a value on.
    @discardableResult private func read(
        _ connection: Connection, from value: [UInt8], limit: Int64, _ passed: (Int64) -> Void
    ) throws -> [(record: Int64, content: [UInt8])] {
        let statement = try connection.prepare(.indexedRecords)
        defer { statement.reset() }
        try statement.bind(zone.owner.rawValue).bind(zone.id).bind(1 as Int64).bind(value).bind([255, 255]).bind(limit)
        var records: [(Int64, [UInt8])] = []
        while try statement.step() {
            records.append((statement.integer(3), statement.bytes(2)))
            passed(statement.integer(3))
        }
        return records
    }

    @Test("What is fetched are the rows of the records that an index names next")
    func rows() async throws {
        try await makeStore(3000)
        let connection = try open(mapping())
        let view = try #require(connection.view)
        let ahead = try #require(connection.recordsAhead as? ReadAhead)
        try connection.begin(writing: false)
        // Where records are is seen when they are read.
        try read(connection, from: [], limit: .max) { ahead.passed(RowNumber($0)) }
        var random = SplitMix(state: seed)
        var (wanted, found) = (0, 0)
        for _ in 0..<200 {
            view.indexLeaf = nil
            var leaf: UnsafeRawPointer?
            var next = try read(connection, from: [UInt8(random.below(256))], limit: 120) { _ in
                leaf = leaf ?? view.indexLeaf
            }
            guard !next.isEmpty, let leaf else { continue }
            let first = next.removeFirst().record
            let rows = (0..<ahead.find(behind: first, in: leaf, atMost: 50)).compactMap { ahead.row($0) }
            // The last page of a file is read, not looked at, and what is on it not fetched.
            let numbers = Set(rows.map(\.record))
            let there = next.filter { numbers.contains($0.record) }
            #expect(rows.map(\.record) == there.map(\.record), "seed \(seed)")
            for (row, expected) in zip(rows, there) {
                // Before the content are the other columns; what does not fit on the page is on others.
                if expected.content.count < 3500 {
                    let isThere = row.bytes.suffix(expected.content.count).elementsEqual(expected.content)
                    #expect(isThere, "record \(row.record), seed \(seed)")
                } else {
                    #expect(row.bytes.count > 400 && row.bytes.count < 4096, "seed \(seed)")
                }
            }
            wanted += min(50, next.count)
            found += rows.count
        }
        // The rest of a page's entries are on the index's next leaf, which is seen to when SQLite comes to it.
        #expect(found > wanted / 3 && found <= wanted, "\(found) of \(wanted), seed \(seed)")
        try connection.commit()
        connection.close()
    }

    @Test("What is not known is not gone to")
    func none() async throws {
        try await makeStore(200)
        let mapping = try mapping()
        let connection = try open(mapping)
        let ahead = try #require(connection.recordsAhead as? ReadAhead)
        let pages = (1..<Int(FileSystem.size(path)) / 4096).compactMap { mapping.seenBytes(at: $0 * 4096, count: 4096) }
        let index = try #require(pages.last { TreePage(bytes: $0, size: 4096).isIndexLeaf })
        let table = try #require(pages.last { TreePage(bytes: $0, size: 4096).isTableLeaf })
        let first = try #require(TreePage(bytes: index, size: 4096).lastNumber(0))
        let second = try #require(TreePage(bytes: index, size: 4096).lastNumber(1))

        #expect(ahead.find(behind: first, in: index, atMost: 50) == 0, "records that were not seen")
        mapping.recordPages[second] = mapping.offset(of: table) / 4096 + 1
        #expect(ahead.find(behind: first, in: index, atMost: 50) == 1)
        #expect(ahead.find(behind: first, in: index, atMost: 0) == 0)
        #expect(ahead.find(behind: 1_000_000, in: index, atMost: 50) == 0, "a record that the leaf does not name")
        #expect(ahead.find(behind: first, in: table, atMost: 50) == 0, "a page of a table")
        mapping.recordPages[second] = 1 << 31
        #expect(ahead.find(behind: first, in: index, atMost: 50) == 0, "a page behind the end")
        mapping.recordPages[second] = mapping.offset(of: index) / 4096 + 1
        #expect(ahead.find(behind: first, in: index, atMost: 50) == 1)
        #expect(ahead.row(0) == nil, "a page of an index")
        connection.close()
    }

    @Test("Whatever a page's bytes are, nothing is read but pages")
    func anyBytes() async throws {
        try await makeStore(300)
        var random = SplitMix(state: seed)
        try edit(path) { data in
            for page in 1..<data.count / 4096 {
                for _ in 0..<random.below(12) {
                    // Mostly where the cells are told of.
                    let offset = random.below(3) == 0 ? random.below(4096) : random.below(40)
                    data[page * 4096 + offset] = UInt8(random.below(256))
                }
                // Other pages are taken for what is looked for.
                if random.below(3) == 0 { data[page * 4096] = [5, 10, 13][random.below(3)] }
            }
        }
        let mapping = try mapping()
        look(at: mapping)
        let size = Int(FileSystem.size(path)) / 4096
        let ahead = ReadAhead(FileView(mapping), pageSize: 4096)
        var rows = 0
        for _ in 0..<20 {
            for record in 1...300 { mapping.recordPages[Int64(record)] = random.below(size + 2) }
            for page in 1..<size {
                guard let bytes = mapping.seenBytes(at: page * 4096, count: 4096) else { continue }
                let leaf = TreePage(bytes: bytes, size: 4096)
                let numbers = (0..<leaf.cellCount).compactMap { leaf.lastNumber($0) }
                let record = numbers.isEmpty ? 1 : numbers[random.below(numbers.count)]
                for index in 0..<ahead.find(behind: record, in: bytes, atMost: 300) {
                    guard let row = ahead.row(index), let place = row.bytes.baseAddress else { continue }
                    rows += 1
                    let end = mapping.offset(of: place) + row.bytes.count
                    #expect(end <= size * 4096, "seed \(seed)")
                }
            }
        }
        #expect(rows > 0, "seed \(seed)")
    }
}
