import NephosStorage
import NephosThreads

@testable import NephosSQLite

/// A store in memory whose writes take their change sequences in one order and commit in another, as those of a database
/// that runs them beside each other do. Every write's body runs twice, and is committed once.
final class UnorderedEngine: StorageEngine, @unchecked Sendable {
    /// A write was to run while no other does, and others may be under way.
    private struct WantsToRunAlone: Error {}

    /// SQLite's connection with a horizon, and transactions that run alone only if they began so.
    private final class UnorderedConnection: SQLConnection {
        static var dialect: SQLDialect { Connection.dialect }
        let connection: Connection
        var meter: ReadMeter { connection.meter }
        var horizon = Int64.max
        var isAlone = false
        var wantsToRunAlone = false

        init() throws {
            connection = try Connection(path: ":memory:", access: .writing)
            try connection.migrate(Migration.all)
        }

        func runAlone() throws {
            if isAlone { return }
            wantsToRunAlone = true
            throw StorageError(.busy, "the write has to run alone")
        }

        func prepare(_ sql: SQL) throws -> any SQLStatement { try connection.prepare(sql) }
        func execute(_ script: String) throws { try connection.execute(script) }
        func begin(writing: Bool) throws { try connection.begin(writing: writing) }
        func commit() throws { try connection.commit() }
        func rollback() { connection.rollback() }
        var isInTransaction: Bool { connection.isInTransaction }
        func schemaVersion() throws -> Int { try connection.schemaVersion() }
        func setSchemaVersion(_ version: Int) throws { try connection.setSchemaVersion(version) }
        func noteDamage(_ record: RecordRowView) {}
        func close() { connection.close() }
    }

    /// The sequences that a write may take.
    private static let block: Int64 = 1000

    // Sendable because `lock` guards these: who has the connection holds it.
    private let lock = Lock()
    private let condition: Condition
    private let connection: UnorderedConnection
    private var lastBlock: Int64 = 0
    private var underWay: Set<Int64> = []
    private var isAlone = false
    private var isClosed = false
    private var random: SeededRandom

    init(seed: UInt64) throws {
        random = SeededRandom(seed)
        condition = Condition(lock)
        connection = try UnorderedConnection()
    }

    func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T {
        try await onThread { [self] in
            try lock.withLock {
                if isClosed { throw StorageError(.closed, "the store is closed") }
                connection.horizon = underWay.min() ?? .max
                try connection.begin(writing: false)
                defer { connection.rollback() }
                let reader = StorageReader(connection)
                defer { reader.invalidate() }
                return try body(reader)
            }
        }
    }

    func write<T: Sendable>(_ body: @escaping @Sendable (StorageTransaction) throws -> T) async throws -> T {
        try await onThread { [self] in
            do {
                return try write(alone: false, body)
            } catch is WantsToRunAlone {
                return try write(alone: true, body)
            }
        }
    }

    private func write<T>(alone: Bool, _ body: (StorageTransaction) throws -> T) throws -> T {
        let start = lock.withLock { () -> Int64 in
            while isAlone || alone && !underWay.isEmpty { condition.wait() }
            isAlone = alone
            lastBlock += Self.block
            underWay.insert(lastBlock)
            return lastBlock
        }
        defer {
            lock.withLock {
                underWay.remove(start)
                if alone { isAlone = false }
                condition.broadcast()
            }
        }
        // Others that took their sequences later go first.
        NativeThread.sleep(nanoseconds: lock.withLock { Int64.random(in: 0...1_500_000, using: &random) })
        return try lock.withLock {
            if isClosed { throw StorageError(.closed, "the store is closed") }
            connection.horizon = underWay.min() ?? .max
            connection.isAlone = alone
            _ = try? run(start, commits: false, body)
            return try run(start, commits: true, body)
        }
    }

    private func run<T>(_ start: Int64, commits: Bool, _ body: (StorageTransaction) throws -> T) throws -> T {
        connection.wantsToRunAlone = false
        try connection.begin(writing: true)
        defer { connection.rollback() }
        let transaction = StorageTransaction(connection, sequence: SequenceCounter { (start, start + Self.block - 1) })
        defer { transaction.invalidate() }
        let result = Result { try body(transaction) }
        if connection.wantsToRunAlone { throw WantsToRunAlone() }
        let value = try result.get()
        if let failure = transaction.failure { throw failure }
        guard commits else { return value }
        for (zone, sequence) in transaction.changedZones {
            let statement = try connection.prepare(.noteChange)
            defer { statement.reset() }
            try statement.bind(sequence).bind(zone.owner.rawValue).bind(zone.id)
            _ = try statement.step()
        }
        try connection.commit()
        return value
    }

    func close() async { lock.withLock { isClosed = true } }

    private func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try NativeThread.start("test") { continuation.resume(with: Result { try body() }) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}

/// Opens one such store.
struct UnorderedStores: StoreProvider {
    let seed: UInt64

    func open(_ id: StoreID) throws -> any StorageEngine { try UnorderedEngine(seed: seed) }
    func assets(of id: StoreID) throws -> any AssetStore { try MemoryStores().assets(of: id) }
    func existingStores() throws -> [StoreID] { [] }
    func close() {}
}

struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}
