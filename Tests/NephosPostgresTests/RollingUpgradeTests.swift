import NephosPostgresTesting
import NephosStorage
import NephosThreads
import Synchronization
import Testing

@testable import NephosPostgres

/// Servers of two versions over one store, while they are upgraded one after another.
@Suite(.overPostgreSQL, .oneAtATime) struct RollingUpgradeTests {
    private func zones(_ engine: any StorageEngine) async throws -> [String] {
        try await engine.read { try $0.zones(owner: .everyone).map(\.name) }
    }

    private func save(_ name: String, _ engine: any StorageEngine) async throws {
        _ = try await engine.write { try $0.insertZone(owner: .everyone, name: name, sequence: $0.nextSequence()) }
    }

    @Test func `a migration of all engines does not change the database's first`() {
        let now = PostgresTables.migrations(after: Migration.all)
        let later = PostgresTables.migrations(after: Migration.all + [Migration(script: "SELECT 1")])
        #expect(later.map(\.script).dropLast() == now.map(\.script)[...])
        // Databases have it: a change of a text is a migration of its own.
        #expect(Array(now.prefix(1)).version == 2_075_173_120)
    }

    @Test func `an index that a stopped server left half built is built again`() async throws {
        var options = TestCluster.options(connections: 2)
        options.migrations.append(Migration(script: "", indexes: ["CREATE INDEX zone_again ON zone (owner, changed)"]))
        let address = try TestCluster.address.get()
        func isValid() throws -> [[String]] {
            let stores = try PostgresStores(address, options: options)
            defer { stores.close() }
            return try stores.connected {
                try $0.ask("SELECT indisvalid::text FROM pg_index WHERE indexrelid = to_regclass('zone_again')")
            }
        }
        #expect(try isValid() == [["true"]])
        let stores = try PostgresStores(address, options: options)
        try stores.connected {
            try $0.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass('zone_again')")
        }
        stores.close()
        #expect(try isValid() == [["true"]])
    }

    @Test func `a migration keeps the store usable by the version before`() async throws {
        var options = TestCluster.options(connections: 2)
        let address = try TestCluster.address.get()
        let id = TestCluster.newStore()
        let old = try PostgresStores(address, options: options)
        let first = try old.open(id)
        try await save("by the old", first)

        let before = options.migrations
        options.migrations.append(
            Migration(
                script: "ALTER TABLE zone ADD COLUMN colour {text}; CREATE TABLE made (id {key});",
                indexes: ["CREATE INDEX zone_colour ON zone (owner, colour)"]))
        let new = try PostgresStores(address, options: options)
        let second = try new.open(id)
        try await save("by the new", second)
        // A server that runs goes on, and one that starts again does.
        try await save("by the old again", first)
        #expect(try await zones(first) == ["by the new", "by the old", "by the old again"])
        await first.close()
        let again = try old.open(id)
        try await save("by the old at last", again)
        #expect(try await zones(second).count == 4)
        for engine in [again, second] { await engine.close() }

        // What breaks with the old closes the store to it, and says so.
        options.migrations.append(Migration(script: "ALTER TABLE made RENAME TO remade", isBreaking: true))
        let newest = try PostgresStores(address, options: options)
        await (try newest.open(id)).close()
        let error = #expect(throws: StorageError.self) { _ = try old.open(id) }
        #expect(error?.code == .otherVersion)
        // The one between does not know that either.
        #expect(throws: StorageError.self) { _ = try new.open(id) }
        #expect(before.count + 2 == options.migrations.count)
        for stores in [old, new, newest] { stores.close() }
    }

    @Test(arguments: [false, true])
    func `servers that start at once run each migration once`(isBreaking: Bool) async throws {
        var options = TestCluster.options(connections: 2)
        let address = try TestCluster.address.get()
        try PostgresStores(address, options: options).close()
        // Run twice, each fails.
        options.migrations += [
            Migration(script: "CREATE TABLE once (a {integer})"),
            Migration(script: "ALTER TABLE once RENAME TO renamed", isBreaking: isBreaking),
            Migration(script: "CREATE TABLE again (a {integer})", indexes: ["CREATE INDEX again_a ON again (a)"]),
        ]
        let newer = options
        let started = try await withThrowingTaskGroup(of: PostgresStores.self) { group in
            for _ in 0..<4 {
                group.addTask { try await BlockingPool.network.run { try PostgresStores(address, options: newer) } }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(started.count == 4)
        for stores in started {
            await (try stores.open(TestCluster.newStore())).close()
            stores.close()
        }
    }

    @Test func `a migration whose connection is cut is rolled back alone, and the next start continues`() async throws {
        var options = TestCluster.options(connections: 2)
        let address = try TestCluster.address.get()
        try PostgresStores(address, options: options).close()
        // A sequence goes on when its transaction is rolled back: the first try ends its connection.
        options.migrations += [
            Migration(script: "CREATE SEQUENCE tries"),
            Migration(
                script: """
                    CREATE TABLE made (a {integer});
                    SELECT CASE WHEN nextval('tries') = 1 THEN pg_terminate_backend(pg_backend_pid()) END
                    """, isBreaking: true),
        ]
        let box = LineBox()
        options.log = { box.add($0) }
        #expect(throws: StorageError.self) { try PostgresStores(address, options: options) }
        var between = options
        between.migrations.removeLast()
        let old = try PostgresStores(address, options: between)
        let (made, last) = try old.connected {
            (
                try $0.ask("SELECT to_regclass('made') IS NULL").first?.first,
                try $0.ask("SELECT last_value::text FROM tries").first?.first
            )
        }
        #expect(made == "\u{1}" && last == "1")
        old.close()
        try PostgresStores(address, options: options).close()
        #expect(throws: StorageError.self) { try PostgresStores(address, options: between) }
        #expect(box.all.count == 2 && box.all.allSatisfy { $0.contains("earlier versions of Nephos cannot read") })
    }
}

/// Lines that were logged.
private final class LineBox: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
}
