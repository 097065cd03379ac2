import Foundation
import NephosStorage
import Synchronization
import Testing

@testable import NephosSQLite

/// The copies of stores' files before breaking migrations.
@Suite struct CopyBeforeMigrationTests {
    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    private let directory: TemporaryDirectory
    private let path: String
    private let lines = Lines()

    private static let first = Migration(script: "ALTER TABLE zone RENAME COLUMN name TO label", isBreaking: true)
    private static let second = Migration(script: "ALTER TABLE zone RENAME COLUMN label TO title", isBreaking: true)
    private static let added = Migration(script: "CREATE TABLE added (a {integer})")

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("development.sqlite")
    }

    private func options(_ later: Migration...) -> SQLiteOptions {
        SQLiteOptions(
            log: { [lines] line in lines.all.withLock { $0.append(line) } }, migrations: Migration.all + later)
    }

    private func fill(_ records: Int) async throws {
        let engine = try SQLiteEngine(path: path)
        _ = try await engine.fill(records)
        await engine.close()
    }

    private func open(_ options: SQLiteOptions) async throws -> StorageError? {
        try await storageError { await (try SQLiteEngine(path: path, options: options)).close() }
    }

    private func copy(before options: SQLiteOptions) -> String {
        CopyBeforeMigration.path(ofStore: path, before: options.migrations.version)
    }

    private var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
    }

    /// Checks the version and the number of records of a file that no log belongs to.
    private func expectStore(_ path: String, _ migrations: [Migration], records: Int64) throws {
        let connection = try Connection(path: path, access: .reading)
        defer { connection.close() }
        #expect(try connection.schemaVersion() == migrations.version)
        #expect(try connection.number("SELECT count(*) FROM record") == records)
        #expect(try connection.integrityProblems().isEmpty)
    }

    @Test func `a breaking migration leaves a copy, which the version before opens and the log names`() async throws {
        try await fill(10)
        let newer = options(Self.added, Self.first)
        #expect(try await open(newer) == nil)
        let name = "development.sqlite.before-\(newer.migrations.version)"
        #expect(try files == ["development.sqlite", name])
        let copy = directory.file(name)
        #expect(try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int == 0o600)
        // The version that wrote the file can open it, so the copy has no migration of this start.
        try expectStore(copy, Migration.all, records: 10)
        try expectStore(path, newer.migrations, records: 10)
        let logged = lines.all.withLock { $0 }
        #expect(logged.count == 1 && logged[0].contains(copy) && logged[0].contains("delete it"), "\(logged)")
        // The next start copies nothing.
        try FileManager.default.removeItem(atPath: copy)
        #expect(try await open(newer) == nil)
        #expect(try files == ["development.sqlite"])
    }

    @Test func `a migration that breaks nothing, and a new store, leave no copy`() async throws {
        #expect(try await open(options(Self.first)) == nil)
        #expect(try files == ["development.sqlite"])
        try FileManager.default.removeItem(atPath: path)
        try await fill(10)
        #expect(try await open(options(Self.added)) == nil)
        #expect(try files == ["development.sqlite"])
        #expect(lines.all.withLock { $0.isEmpty })
    }

    @Test func `two breaking migrations of one start leave one copy, and of two starts one each`() async throws {
        try await fill(10)
        let (one, two) = (options(Self.first), options(Self.first, Self.second))
        #expect(try await open(two) == nil)
        #expect(try files.count == 2)
        try expectStore(copy(before: one), Migration.all, records: 10)
        try expectStore(path, two.migrations, records: 10)

        for file in try files { try FileManager.default.removeItem(atPath: directory.file(file)) }
        try await fill(10)
        for options in [one, two] { #expect(try await open(options) == nil) }
        #expect(try files.count == 3)
        try expectStore(copy(before: one), Migration.all, records: 10)
        try expectStore(copy(before: two), one.migrations, records: 10)
    }

    @Test func `a start after a kill between two migrations keeps the copy that the version before can open`()
        async throws
    {
        try await fill(10)
        let newer = options(Self.added, Self.first)
        let connection = try StoreFile.open(path, SQLiteOptions())
        try CopyBeforeMigration.make(of: connection, at: path, before: newer.migrations.version) { _ in }
        connection.close()
        #expect(try await open(options(Self.added)) == nil)
        #expect(try await open(newer) == nil)
        #expect(try files.count == 2)
        try expectStore(copy(before: newer), Migration.all, records: 10)
        try expectStore(path, newer.migrations, records: 10)
    }

    @Test func `a copy has the commits that are in the log alone`() async throws {
        let other = directory.file("other.sqlite")
        let engine = try SQLiteEngine(path: other)
        _ = try await engine.fill(20)
        // The files as a kill would leave them.
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: other + suffix, toPath: path + suffix)
        }
        await engine.close()
        let newer = options(Self.first)
        #expect(try await open(newer) == nil)
        try expectStore(copy(before: newer), Migration.all, records: 20)
    }

    @Test func `a start after a kill between copy and migration replaces the copy by one of the store as it is`()
        async throws
    {
        try await fill(10)
        let newer = options(Self.first)
        let connection = try StoreFile.open(path, SQLiteOptions())
        try CopyBeforeMigration.make(of: connection, at: path, before: newer.migrations.version) { _ in }
        connection.close()
        try expectStore(copy(before: newer), Migration.all, records: 10)
        // The kill left half of another draft, and the version before went on.
        try Data("half".utf8).write(to: URL(fileURLWithPath: copy(before: newer) + ".new"))
        let engine = try SQLiteEngine(path: path)
        try await engine.write { transaction in
            let zone = try #require(try transaction.zones(owner: .everyone).first)
            try transaction.put(record(zone.key, "later", transaction))
        }
        await engine.close()
        #expect(try await open(newer) == nil)
        #expect(try files == ["development.sqlite", "development.sqlite.before-\(newer.migrations.version)"])
        try expectStore(copy(before: newer), Migration.all, records: 11)
        try expectStore(path, newer.migrations, records: 11)
    }

    @Test func `a start after a kill in the middle of a migration runs it from its beginning`() async throws {
        let other = directory.file("other.sqlite")
        let engine = try SQLiteEngine(path: other)
        _ = try await engine.fill(500)
        await engine.close()
        let connection = try StoreFile.open(other, SQLiteOptions())
        // Pages of the unfinished transaction are in the log.
        try connection.execute(
            """
            PRAGMA cache_size = 10; PRAGMA cache_spill = 10; BEGIN IMMEDIATE;
            ALTER TABLE zone RENAME COLUMN name TO label; UPDATE record SET type = 'Half';
            """)
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: other + suffix, toPath: path + suffix)
        }
        connection.rollback()
        connection.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")).count > 100_000)
        let newer = options(Self.first)
        #expect(try await open(newer) == nil)
        try expectStore(copy(before: newer), Migration.all, records: 500)
        try expectStore(path, newer.migrations, records: 500)
        let migrated = try Connection(path: path, access: .reading)
        defer { migrated.close() }
        #expect(try migrated.number("SELECT count(*) FROM record WHERE type = 'Half'") == 0)
        #expect(try migrated.number("SELECT count(*) FROM zone WHERE label = 'Zone'") == 1)
    }

    @Test func `a breaking migration that fails leaves the store at the version before, with one copy`() async throws {
        try await fill(10)
        let broken = options(Migration(script: "DROP TABLE zone; INSERT INTO nowhere VALUES (1)", isBreaking: true))
        for _ in 0..<2 { #expect(try await open(broken) != nil) }
        #expect(try files == ["development.sqlite", "development.sqlite.before-\(broken.migrations.version)"])
        #expect(try await open(options()) == nil)
        try expectStore(path, Migration.all, records: 10)
    }

    @Test func `a store whose copy cannot be made is refused in words and left unchanged`() async throws {
        try await fill(10)
        let newer = options(Self.first)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let obstacle = copy(before: newer) + ".new"
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
        let error = try #require(try await open(newer))
        #expect(error.message.contains(path) && error.message.contains("needs a copy"))
        #expect(error.message.hasSuffix("Nothing was changed."), "\(error.message)")
        try FileManager.default.removeItem(atPath: obstacle)
        #expect(try files == ["development.sqlite"])
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        #expect(try await open(options()) == nil)
        #expect(try await open(newer) == nil)
    }

    @Test func `a full disk refuses the copy and leaves no draft`() async throws {
        try await fill(2000)
        let connection = try StoreFile.open(path, SQLiteOptions())
        defer { connection.close() }
        let error = #expect(throws: StorageError.self) {
            try CopyBeforeMigration.make(of: connection, at: path, before: 7, maximumPages: 20) { _ in }
        }
        #expect(error?.code == .inputOutput && error?.message.contains("full") == true, "\(String(describing: error))")
        #expect(error?.message.contains("Nothing was changed") == true)
        #expect(try files.filter { $0.contains("before") }.isEmpty)
    }

    @Test func `a copy is no store of its directory, and backups leave it out`() async throws {
        let id = StoreID(container: "iCloud.org.example.App", environment: "development")
        let data = directory.file("data")
        let stores = try DataDirectory(path: data)
        _ = try await stores.open(id).fill(10)
        stores.close()
        let newer = options(Self.first)
        let upgraded = try DataDirectory(path: data, options: newer)
        await (try upgraded.open(id)).close()
        #expect(try upgraded.existingStores() == [id])
        upgraded.close()
        #expect(try StoredDirectory(path: data).existingStores() == [id])
        let file = "\(data)/\(id.container)/\(id.environment).sqlite"
        let copy = CopyBeforeMigration.path(ofStore: file, before: newer.migrations.version)
        #expect(FileManager.default.fileExists(atPath: copy))
        // What the page says: the copy, moved to the store's name, is what the version before opens.
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.moveItem(atPath: copy, toPath: file)
        let old = try DataDirectory(path: data)
        let engine = try old.open(id)
        let names = try await engine.read { reader in
            try reader.zones(owner: .everyone).flatMap {
                try reader.records(zone: $0.key, after: 0, limit: 100).map(\.name)
            }
        }
        #expect(names.count == 10)
        await engine.close()
        old.close()
        let backup = directory.file("backup")
        try StoredDirectory(path: data).copyDatabase(id, to: backup, asNewIncarnation: false)
        #expect(try StoredDirectory(path: backup).existingStores() == [id])
    }
}
