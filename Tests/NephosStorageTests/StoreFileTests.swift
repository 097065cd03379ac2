import Foundation
import NephosStorage
import Testing

@testable import NephosSQLite

/// What opening a file that is not simply a store of ours does.
@Suite struct StoreFileTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("store.sqlite")
    }

    /// Opens the file and reads all of it; returns the refusal.
    private func open(_ options: SQLiteOptions = SQLiteOptions()) async throws -> StorageError? {
        try await storageError {
            let engine = try SQLiteEngine(path: path, options: options)
            do {
                _ = try await engine.read { reader in
                    try reader.zones(owner: .everyone).map { try reader.records(zone: $0.key, after: 0, limit: 10_000) }
                }
            } catch {
                await engine.close()
                throw error
            }
            await engine.close()
        }
    }

    private func makeStore(records: Int = 100) async throws {
        let engine = try SQLiteEngine(path: path)
        _ = try await engine.fill(records)
        await engine.close()
    }

    @Test("A store is one file when it is closed, readable by its owner alone, and marked as ours")
    func file() async throws {
        try await makeStore()
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["store.sqlite"])
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let header = try Data(contentsOf: URL(fileURLWithPath: path)).prefix(100)
        #expect(Array(header[68..<72]) == Array("Neph".utf8))
        #expect(try await open() == nil)
    }

    @Test("An empty file is a store that a crash left before its first commit")
    func emptyFile() async throws {
        try makeFile(path)
        #expect(try await open() == nil)
    }

    @Test(
        "A file that is not SQLite's is refused as damaged, named, and left as it was", arguments: [1, 99, 100, 5000])
    func garbage(size: Int) async throws {
        let garbage = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 * 7 + 13) })
        try garbage.write(to: URL(fileURLWithPath: path))
        let error = try #require(try await open())
        #expect(error.code == .damaged)
        #expect(error.message.contains(path))
        #expect(error.message.contains("backup"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == garbage)
    }

    @Test("A truncated store is refused as damaged", arguments: [0.1, 0.3, 0.5, 0.9, 0.999])
    func truncated(part: Double) async throws {
        try await makeStore()
        try edit(path) { $0 = $0.prefix(Int(Double($0.count) * part)) }
        #expect(try await open()?.code == .damaged)
    }

    @Test("A SQLite database of somebody else's is refused and left as it was", arguments: [0, 0x1234])
    func foreign(application: Int) async throws {
        try makeFile(path)
        let connection = try Connection(path: path, access: .writing)
        try connection.execute("CREATE TABLE mine (a); PRAGMA application_id = \(application)")
        connection.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let error = try #require(try await open())
        #expect(error.code == .damaged)
        #expect(error.message.contains("not a store of Nephos"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test("A directory in the file's place is refused")
    func directoryInPlace() async throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try await open()?.code == .inputOutput)
    }

    @Test("A store whose pages are damaged is refused when they are read, with SQLite's message")
    func damagedPages() async throws {
        try await makeStore(records: 2000)
        try edit(path) { data in
            let start = data.count / 2
            data.replaceSubrange(start..., with: repeatElement(0xff, count: data.count - start))
        }
        let error = try #require(try await open())
        #expect(error.code == .damaged)
        #expect(error.message.contains("malformed"))
    }

    @Test("Whatever bytes a store's file has, opening and reading it works or throws a StorageError")
    func randomDamage() async throws {
        let original = directory.file("original.sqlite")
        try await makeStore(records: 60)
        try FileManager.default.copyItem(atPath: path, toPath: original)
        let seed = UInt64.random(in: 1...UInt64.max)
        var state = seed
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        for _ in 0..<60 {
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.copyItem(atPath: original, toPath: path)
            try edit(path) { data in
                for _ in 0...next(20) { data[next(next(2) == 0 ? 200 : data.count)] = UInt8(next(256)) }
            }
            // Anything but a StorageError is thrown on.
            await #expect(throws: Never.self, "seed \(seed)") { _ = try await open() }
        }
    }

    // MARK: Versions

    private let last = Migration.all.count
    private let later = Migration(
        number: Migration.all.count + 1, script: "CREATE TABLE later (a {integer} NOT NULL, b {text})")

    @Test("An older store is migrated, keeps its rows, and cannot be opened by the older version any more")
    func migration() async throws {
        try await makeStore(records: 10)
        let newer = SQLiteOptions(migrations: Migration.all + [later])
        #expect(try await open(newer) == nil)
        #expect(try await open(newer) == nil)

        let connection = try Connection(path: path, access: .reading)
        #expect(try connection.schemaVersion() == last + 1)
        #expect(try connection.number("SELECT count(*) FROM record") == 10)
        #expect(try connection.number("SELECT count(*) FROM later") == 0)
        connection.close()

        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let error = try #require(try await open())
        #expect(error.code == .newerVersion)
        #expect(error.message.contains("version \(last + 1)") && error.message.contains(path))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test("A migration that fails leaves the store at the version before it")
    func failingMigration() async throws {
        try await makeStore(records: 10)
        let broken = Migration(
            number: last + 2, script: "CREATE TABLE third (a {integer}); INSERT INTO nowhere VALUES (1)")
        #expect(try await open(SQLiteOptions(migrations: Migration.all + [later, broken])) != nil)
        let connection = try Connection(path: path, access: .reading)
        #expect(try connection.schemaVersion() == last + 1)
        #expect(try connection.number("SELECT count(*) FROM sqlite_schema WHERE name = 'third'") == 0)
        connection.close()
        #expect(try await open(SQLiteOptions(migrations: Migration.all + [later])) == nil)
    }

    @Test("Indexes of a store from before exact dates are built again, over all that was written until then")
    func indexesBeforeExactDates() throws {
        let connection = try Connection(path: ":memory:", access: .writing)
        try connection.migrate(Array(Migration.all.prefix(5)))
        try connection.execute(
            """
            UPDATE change_sequence SET last = 70;
            INSERT INTO index_definition (record_type, components, ready, defined_at, built_zone, built_sequence)
                VALUES ('Note', 'at', 1, 3, 9, 9);
            INSERT INTO index_entry (owner, zone, definition, value, name) VALUES (1, 1, 1, x'04', 'note');
            """)
        try connection.migrate(Array(Migration.all.prefix(6)))
        #expect(try connection.number("SELECT count(*) FROM index_entry") == 0)
        #expect(
            try connection.number(
                "SELECT defined_at FROM index_definition WHERE ready + built_zone + built_sequence = 0") == 70)
    }

    @Test("Records of an older store are numbered when it is migrated, and its indexes built again")
    func numberedRecords() throws {
        let connection = try Connection(path: ":memory:", access: .writing)
        try connection.migrate(Array(Migration.all.prefix(6)))
        try connection.execute(
            """
            UPDATE change_sequence SET last = 3;
            INSERT INTO index_definition (record_type, components, ready, defined_at, built_zone, built_sequence)
                VALUES ('T', '=a', 1, 1, 9, 9);
            """)
        for (sequence, (zone, name)) in [(1, "b"), (1, "a"), (2, "a")].enumerated() {
            try connection.execute(
                """
                INSERT INTO record VALUES (0, \(zone), '\(name)', 'T', \(sequence), 0, 1, 2, 3, 4, 'p', NULL, x'7B7D');
                INSERT INTO index_entry VALUES (0, \(zone), 1, x'01', '\(name)');
                """)
        }
        try connection.migrate(Array(Migration.all.prefix(7)))
        let kept = """
            SELECT count(DISTINCT id) FROM record WHERE owner = 0 AND type = 'T' AND deleted = 0 AND created_at = 1
                AND created_by = 2 AND modified_at = 3 AND modified_by = 4 AND parent = 'p' AND share IS NULL
                AND fields = x'7B7D' AND zone || name || sequence IN ('1b0', '1a1', '2a2')
            """
        #expect(try connection.number(kept) == 3)
        #expect(try connection.number("SELECT count(*) FROM index_entry") == 0)
        #expect(try connection.number("SELECT defined_at FROM index_definition WHERE ready + built_zone = 0") == 3)
    }

    @Test("Records of an older store are packed when it is migrated, under their numbers and with their indexes")
    func packedRecords() async throws {
        try Data().write(to: URL(fileURLWithPath: path))
        let connection = try Connection(path: path, access: .writing)
        try connection.migrate(Array(Migration.all.prefix(8)))
        let zone = ZoneKey(owner: .everyone, id: 1)
        // Names in more than ASCII, with spaces and digits in front, numbers of any size, fields that are no text.
        var expected = [
            RecordRow(
                zone: zone, name: "b", type: "Tß 1 2", sequence: 1, createdAt: 1_700_000_000_000, createdBy: 1,
                modifiedAt: 1_700_000_000_001, modifiedBy: 12, parent: " 3 é 👩‍👩‍👧", share: "1",
                fields: [0x7B, 0, 0xFF, 0x7D]),
            RecordRow(
                zone: zone, name: "a", type: "", sequence: 2, isDeleted: true, createdAt: -5, createdBy: .max,
                modifiedAt: -4, modifiedBy: 0, parent: "", fields: []),
            RecordRow(
                zone: zone, name: "9", type: "T", sequence: 3, isDeleted: true, createdAt: .min, createdBy: 0,
                modifiedAt: .max, modifiedBy: 7, share: "s", fields: Array("{}".utf8)),
            RecordRow(
                zone: zone, name: "c", type: "T", sequence: 4, createdAt: 0, createdBy: 0, modifiedAt: 0, modifiedBy: 0,
                fields: Array("{}".utf8)),
        ]
        func quoted(_ text: String?) -> String { text.map { "'\($0)'" } ?? "NULL" }
        for (index, row) in expected.enumerated() {
            expected[index].number = RowNumber(Int64(10 * index + 10))
            try connection.execute(
                """
                INSERT INTO record VALUES (\(10 * index + 10), 0, 1, '\(row.name)', '\(row.type)', \(row.sequence),
                    \(row.isDeleted ? 1 : 0), \(row.createdAt), \(row.createdBy), \(row.modifiedAt), \(row.modifiedBy),
                    \(quoted(row.parent)), \(quoted(row.share)), x'\(row.fields.map { String(format: "%02x", $0) }.joined())');
                INSERT INTO index_entry VALUES (0, 1, 1, x'01', '\(row.name)', \(10 * index + 10));
                """)
        }
        try connection.migrate(Migration.all)
        // When each was deleted.
        let deletions = "SELECT group_concat(deleted_at, ' ') = '0 1 \(Int64.max) 0' FROM record"
        #expect(try connection.number(deletions) == 1)
        connection.close()

        let engine = try SQLiteEngine(path: path)
        let (rows, names) = try await engine.read { reader in
            var names: [String] = []
            let all = IndexRange(zone: zone, definition: 1, from: [], to: [0xFF])
            try reader.visitIndexedRecords(all, after: nil, limit: 10, wanted: 10) { record, _ in
                names.append(record.row.name)
                return true
            }
            return (try reader.records(zone: zone, after: 0, limit: 10), names)
        }
        await engine.close()
        #expect(rows == expected)
        #expect(rows.map(\.number.value) == expected.map(\.number.value))
        #expect(names == ["9", "a", "b", "c"])
    }

    @Test("Migrations are numbered from 1 without gaps")
    func numbering() {
        #expect(Migration.all.map(\.number) == Array(1...Migration.all.count))
    }

    @Test("Every statement is prepared, with its parameters in order, on the tables of the last migration")
    func statements() throws {
        let connection = try Connection(path: ":memory:", access: .writing)
        try connection.migrate(Migration.all)
        // An assertion in `Statement` checks the parameters.
        for sql in SQL.allCases { #expect(throws: Never.self, "\(sql)") { _ = try connection.prepare(sql) } }
    }

    @Test("No statement sorts rows or scans a table whose size follows the data")
    func plans() throws {
        let connection = try Connection(path: ":memory:", access: .writing)
        try connection.migrate(Migration.all)
        let small: Set<SQL> = [
            .lastSequence, .setLastSequence, .recordTypes, .schemaFields, .jobs, .zones, .indexDefinitions,
        ]
        // What a count looks at is a range that a LIMIT cut; rows that a statement gives itself are no table.
        func isBounded(_ scan: String) -> Bool { scan == "SCAN found" || scan.hasSuffix("CONSTANT ROWS") }
        let control: Set<SQL> = [.savepoint, .releaseSavepoint, .rollbackToSavepoint]
        for sql in SQL.allCases where !control.contains(sql) {
            let plan = try connection.plan(of: sql)
            #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(sql): \(plan)")
            let scans = plan.filter { $0.hasPrefix("SCAN") && !isBounded($0) }
            #expect(small.contains(sql) || scans.isEmpty, "\(sql): \(plan)")
        }
    }
}

extension Connection {
    /// How SQLite would run the statement.
    fileprivate func plan(of sql: SQL) throws -> [String] {
        let statement = try prepare(text: "EXPLAIN QUERY PLAN \(sql.text)")
        defer { statement.finalize() }
        var plan: [String] = []
        while try statement.step() { plan.append(statement.text(3)) }
        return plan
    }
}
