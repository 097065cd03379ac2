import Foundation
import NephosStorage
import Testing

@testable import NephosSQLite

/// Opening files that are damaged, foreign, of another version or no store.
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

    @Test func `a closed store is one file, readable by its owner alone, with its application ID`() async throws {
        try await makeStore()
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["store.sqlite"])
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let header = try Data(contentsOf: URL(fileURLWithPath: path)).prefix(100)
        #expect(Array(header[68..<72]) == Array("Neph".utf8))
        #expect(try await open() == nil)
    }

    @Test func `an empty file is refused and left empty, as it may be a truncated store`() async throws {
        try makeFile(path)
        let error = try #require(try await open())
        #expect(error.code == .damaged)
        #expect(error.message.contains("empty") && error.message.contains(path))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
    }

    @Test func `a store that a crash left half made is made again`() async throws {
        try Data("half".utf8).write(to: URL(fileURLWithPath: "\(path).new"))
        #expect(try await open() == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["store.sqlite"])
    }

    @Test func `a missing file with a log is refused as damaged`() async throws {
        try Data("log".utf8).write(to: URL(fileURLWithPath: "\(path)-wal"))
        let error = try #require(try await open())
        #expect(error.code == .damaged)
        #expect(error.message.contains("store.sqlite-wal"))
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test(arguments: [1, 99, 100, 5000])
    func `a file that is not SQLite's is refused as damaged, by name, and left unchanged`(size: Int) async throws {
        let garbage = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 * 7 + 13) })
        try garbage.write(to: URL(fileURLWithPath: path))
        let error = try #require(try await open())
        #expect(error.code == .damaged)
        #expect(error.message.contains(path))
        #expect(error.message.contains("backup"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == garbage)
    }

    @Test(arguments: [0.1, 0.3, 0.5, 0.9, 0.999])
    func `a truncated store is refused as damaged`(part: Double) async throws {
        try await makeStore()
        try edit(path) { $0 = $0.prefix(Int(Double($0.count) * part)) }
        #expect(try await open()?.code == .damaged)
    }

    @Test(arguments: [0, 0x1234])
    func `another program's SQLite database is refused and left unchanged`(application: Int) async throws {
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

    @Test func `a directory in place of the file is refused`() async throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try await open()?.code == .inputOutput)
    }

    @Test func `a store with damaged pages is refused when they are read, with SQLite's message`() async throws {
        try await makeStore(records: 2000)
        try edit(path) { data in
            let start = data.count / 2
            data.replaceSubrange(start..., with: repeatElement(0xff, count: data.count - start))
        }
        let error = try #require(try await open())
        #expect(error.code == .damaged)
        #expect(error.message.contains("malformed"))
    }

    @Test func `opening and reading a store of random bytes works or throws a StorageError`() async throws {
        let original = directory.file("original.sqlite")
        try await makeStore(records: 60)
        try FileManager.default.copyItem(atPath: path, toPath: original)
        let seed: UInt64 = 1
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

    private let later = Migration(script: "CREATE TABLE later (a {integer} NOT NULL, b {text})")

    @Test func `a store is migrated to the last version, keeps its rows, and is refused by older versions`()
        async throws
    {
        try await makeStore(records: 10)
        let newer = SQLiteOptions(migrations: Migration.all + [later])
        #expect(try await open(newer) == nil)
        #expect(try await open(newer) == nil)

        let connection = try Connection(path: path, access: .reading)
        #expect(try connection.schemaVersion() == newer.migrations.version)
        #expect(try connection.number("SELECT count(*) FROM record") == 10)
        #expect(try connection.number("SELECT count(*) FROM later") == 0)
        connection.close()

        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let error = try #require(try await open())
        #expect(error.code == .otherVersion)
        #expect(error.message.contains("\(newer.migrations.version)") && error.message.contains(path))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func `a failing migration leaves the store at the version before it`() async throws {
        try await makeStore(records: 10)
        let newer = Migration.all + [later]
        let broken = Migration(script: "CREATE TABLE third (a {integer}); INSERT INTO nowhere VALUES (1)")
        #expect(try await open(SQLiteOptions(migrations: newer + [broken])) != nil)
        let connection = try Connection(path: path, access: .reading)
        #expect(try connection.schemaVersion() == newer.version)
        #expect(try connection.number("SELECT count(*) FROM sqlite_schema WHERE name = 'third'") == 0)
        connection.close()
        #expect(try await open(SQLiteOptions(migrations: newer)) == nil)
    }

    @Test(arguments: [0, 1, 9, 10, 0x7fff_ffff, -1])
    func `a store of an unknown version is refused and left unchanged`(_ version: Int) async throws {
        try await makeStore(records: 10)
        let connection = try Connection(path: path, access: .writing)
        try connection.execute("PRAGMA journal_mode = DELETE; PRAGMA user_version = \(version)")
        connection.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let error = try #require(try await open())
        #expect(error.code == .otherVersion)
        #expect(error.message.contains("another version of Nephos") && error.message.contains(path))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["store.sqlite"])
    }

    @Test func `an edited script has another version`() {
        #expect([Migration]().version == 0)
        #expect(Migration.all.version != [later].version)
        #expect((Migration.all + [later]).version != [later, Migration.all[0]].version)
        #expect((0x4000_0000...0x7fff_ffff).contains(Migration.all.version))
    }

    @Test func `every statement prepares, with its parameters in order, on the migrated tables`() throws {
        let connection = try Connection(path: ":memory:", access: .writing)
        try connection.migrate(Migration.all)
        // An assertion in `Statement` checks the parameters.
        for sql in SQL.allCases { #expect(throws: Never.self, "\(sql)") { _ = try connection.prepare(sql) } }
    }

    @Test func `a participant's query reads the records under its share alone`() throws {
        let connection = try Connection(path: ":memory:", access: .writing)
        try connection.migrate(Migration.all)
        let plan = try connection.plan(of: .liveSharedRecords)
        #expect(
            plan.first
                == "SEARCH shared USING INDEX shared_record_live (owner=? AND zone=? AND share=? AND type=? AND name>?)"
        )
    }

    @Test func `no statement sorts rows or scans a table whose size follows the data`() throws {
        let connection = try Connection(path: ":memory:", access: .writing)
        try connection.migrate(Migration.all)
        let small: Set<SQL> = [
            .lastSequence, .setLastSequence, .lostSequences, .recordTypes, .schemaFields, .jobs, .zones,
            .indexDefinitions,
            // One row, and as many as a LIMIT lets through in the order of the key.
            .anyAsset, .condemnedAssets, .countRequestKeys,
        ]
        // What a count or a recursion looks at is a range that a LIMIT cut; rows that a statement gives itself are no table.
        func isBounded(_ scan: String) -> Bool {
            ["SCAN found", "SCAN below"].contains(scan) || scan.hasSuffix("CONSTANT ROWS")
                || scan.hasPrefix("SCAN json_each ")
        }
        let control: Set<SQL> = [.savepoint, .releaseSavepoint, .rollbackToSavepoint]
        // Where the database is in another process.
        let remote: Set<SQL> = [.recordsByNames, .referencesToAny, .missingIndexEntries, .participantZone]
        // `nephos verify` reads every row anyway, and no server runs these.
        let verification: Set<SQL> = [.rowsWithoutZone, .rowsWithoutAccount]
        let exempt = control.union(remote).union(verification)
        for sql in SQL.allCases where !exempt.contains(sql) {
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
