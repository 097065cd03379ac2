import NephosPostgresTesting
import NephosStorage
import NephosStorageTesting
import NephosThreads
import Synchronization
import Testing

@testable import NephosPostgres

/// Stores that alternate on one connection: each transaction reaches its own store's rows, whatever the previous outcome.
@Suite(.overPostgreSQL, .oneAtATime) struct StoreAlternationTests {
    /// Called before the statements of a write that follow.
    private typealias Hook = @Sendable () -> Void

    private let stores: PostgresStores
    private let prefix: String
    private let other: Other
    private let hook = Mutexed<Hook?>(nil)

    init() throws {
        var options = TestCluster.options(connections: 1)
        options.lockMilliseconds = 20
        let hook = hook
        options.beforeStatement = { hook.value?() }
        prefix = options.prefix
        let address = try PostgresAddress("\(try TestCluster.text.get()) application_name=\(prefix)")
        stores = try PostgresStores(address, options: options)
        other = Other(
            try PostgresConnection(
                try TestCluster.address.get(), PostgresOptions(acceptsUnsafeServer: true), damage: nil))
    }

    @Test func `a store's transaction reaches its own rows after every outcome of another's`() async throws {
        let alternation = try await StoreAlternation(stores)
        try await alternation.check(StoreAlternation.endings + repeats + losses)
        await alternation.close()
        stores.close()
    }

    /// Each reason for which a transaction is repeated.
    private var repeats: [StoreAlternation.Ending] {
        [
            .init("a write repeated for a conflict") { store in
                let name = "conflict\(UInt64.random(in: .min ... .max))"
                let number = try number(of: store)
                try await intercept(at: 2) {
                    let columns = "deleted, created_at, created_by, modified_at, modified_by, checksum"
                    try other.ask(
                        """
                        INSERT INTO \(prefix).record (id, owner, zone, name, type, sequence, fields, \(columns))
                        SELECT max(id) + 1, owner, zone, '\(name)', 'Note', max(sequence) + 1,
                            convert_to('\(store.name)', 'UTF8'), 0, 1, 1, 1, 1, 0 FROM \(prefix).record
                        WHERE owner >> 40 = \(number) GROUP BY owner, zone
                        """)
                } during: {
                    try await write(store, name)
                }
            },
            .init("a read and a write whose statements have to be prepared again") { store in
                for _ in 0..<2 {
                    try await stores.pool.run { try $0.execute("DEALLOCATE ALL") }
                    _ = try await store.engine.read { try $0.recordTypes() }
                    try await stores.pool.run { try $0.execute("DEALLOCATE ALL") }
                    try await write(store, "same")
                }
            },
            .init("a read that settles the sequences of owners") { store in
                try await write(store, "same")
                let owners = [store.zone.owner, OwnerID(rawValue: 7)]
                _ = try await store.engine.read { try $0.settledSequence(of: Set(owners)) }
            },
            .init("a write that finds it needs another owner's line, and one that needs the store's") { store in
                try await store.engine.write { transaction in
                    try put("same", store, transaction)
                    try transaction.runAlone()
                }
            },
            .init("a read and a write of stale versions") { store in
                let isCurrent = try await store.engine.read { try $0.isCurrent(-1, of: .catalog) }
                #expect(!isCurrent)
                let wasCurrent = try await store.engine.write { transaction in
                    let isCurrent = try transaction.isCurrent(-1, of: .catalog)
                    try put("same", store, transaction)
                    return isCurrent
                }
                #expect(!wasCurrent)
            },
            .init("a write that finds the database replaced") { store in
                let incarnation = "SELECT incarnation::text FROM \(prefix).installation"
                let before = try other.ask(incarnation)
                try other.ask(
                    "UPDATE \(prefix).installation SET synchronous = 1 - synchronous")
                try await write(store, "same")
                #expect(try other.ask(incarnation) == before)
            },
        ]
    }

    /// What is lost or refused on the way.
    private var losses: [StoreAlternation.Ending] {
        [
            .init("a read whose body ignores a statement that failed") { store in
                try await whileLocked("record") {
                    let rows = try await store.engine.read { try? $0.records(zone: store.zone, after: 0, limit: 1) }
                    #expect(rows == nil)
                }
            },
            .init("a write whose body ignores a statement that failed") { store in
                try await whileLocked("record") {
                    await #expect(throws: StorageError.self) {
                        try await store.engine.write { transaction in
                            _ = try? transaction.record(zone: store.zone, named: "same")
                            _ = try? put("same", store, transaction)
                        }
                    }
                }
            },
            .init("a write whose connection is lost") { store in
                for statement in 1...2 {
                    try await intercept(at: statement) {
                        try terminate()
                    } during: {
                        // The outcome of a lost commit is unknown.
                        try? await write(store, "same")
                    }
                }
            },
            .init("a connection whose first use is refused") { store in
                try terminate()
                try await whileLocked("installation") {
                    await #expect(throws: StorageError.self) {
                        _ = try await store.engine.read { try $0.recordTypes() }
                    }
                }
            },
            .init("a first use that notes another lineage") { store in
                try terminate()
                try other.ask(
                    "UPDATE \(prefix).installation SET synchronous = 1 - synchronous")
                _ = try await store.engine.read { try $0.recordTypes() }
            },
            .init("an analysis of its tables") { store in
                _ = store
                _ = try await stores.pool.run { try TableStatistics.update($0) }
            },
        ]
    }

    // MARK: -

    private func write(_ store: StoreAlternation.Store, _ name: String) async throws {
        try await store.engine.write { transaction in
            _ = try transaction.record(zone: store.zone, named: name)
            try put(name, store, transaction)
        }
    }

    private func put(
        _ name: String, _ store: StoreAlternation.Store, _ transaction: StorageTransaction
    ) throws {
        try transaction.put(
            RecordRow(
                zone: store.zone, name: name, type: "Note", sequence: transaction.nextSequence(), createdAt: 1,
                createdBy: 2, modifiedAt: 3, modifiedBy: 4,
                fields: Array(store.name.utf8)))
    }

    private func number(of store: StoreAlternation.Store) throws -> String {
        try other.ask(
            """
            SELECT id::text FROM \(prefix).store
            WHERE container = '\(store.id.container)' AND environment = '\(store.id.environment)'
            """)[0][0]
    }

    /// Runs `interception` before the n-th exchange of `body`'s writes.
    private func intercept(
        at number: Int, _ interception: @escaping @Sendable () throws -> Void, during body: () async throws -> Void
    ) async throws {
        let count = Mutexed(0)
        hook.value = {
            count.value += 1
            if count.value == number { #expect(throws: Never.self) { try interception() } }
        }
        defer { hook.value = nil }
        try await body()
        #expect(count.value >= number)
    }

    private func whileLocked(
        _ table: String, _ body: () async throws -> Void
    ) async throws {
        try other.ask("BEGIN")
        defer { _ = try? other.ask("ROLLBACK") }
        try other.ask("LOCK TABLE \(prefix).\(table) IN ACCESS EXCLUSIVE MODE")
        try await body()
    }

    /// Ends the pool's connection.
    private func terminate() throws {
        try other.ask(
            """
            SELECT pg_terminate_backend(pid, 5000)::text FROM pg_stat_activity
            WHERE application_name = '\(prefix)'
            """)
    }
}

/// A connection that tests use from one thread after the other.
private final class Other: @unchecked Sendable {
    private let connection: PostgresConnection
    private let lock = Lock()

    init(_ connection: PostgresConnection) { self.connection = connection }

    deinit { connection.close() }

    @discardableResult
    func ask(_ text: String) throws -> [[String]] { try lock.withLock { try connection.ask(text) } }
}

/// A value behind a lock.
private final class Mutexed<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    init(_ value: Value) { mutex = Mutex(value) }

    var value: Value {
        get { mutex.withLock { $0 } }
        set { mutex.withLock { $0 = newValue } }
    }
}
