import NephosPostgresTesting
import NephosStorage
import Synchronization
import Testing

@testable import NephosPostgres

/// The connections that the requests of a server share.
@Suite(.overPostgreSQL) struct PostgresPoolTests {
    /// Opens connections to the cluster up to a number, as a PostgreSQL without further slots.
    private final class Slots: Sendable {
        private let left: Mutex<Int>
        let log = Mutex<[String]>([])

        init(_ count: Int) { left = Mutex(count) }

        func add(_ count: Int) { left.withLock { $0 += count } }

        func pool(connections: Int) throws -> PostgresPool {
            let address = try TestCluster.address.get()
            var options = TestCluster.options(connections: connections)
            options.log = { line in self.log.withLock { $0.append(line) } }
            // So long that a request which is left alone fails the test by its time limit.
            options.waitNanoseconds = 600_000_000_000
            return PostgresPool(options, losses: ConnectionLosses(), meter: WaitMeter()) { [options] in
                let isFree = self.left.withLock { left in
                    left -= 1
                    return left >= 0
                }
                guard isFree else {
                    self.add(1)
                    throw StorageError(.inputOutput, "sorry, too many clients already")
                }
                return try PostgresConnection(address, options, damage: nil)
            }
        }
    }

    private func run(_ count: Int, _ pool: PostgresPool) async throws -> Set<ObjectIdentifier> {
        try await withThrowingTaskGroup(of: ObjectIdentifier.self) { group in
            for _ in 0..<count {
                group.addTask {
                    try await pool.run { connection in
                        try connection.execute("SELECT pg_sleep(0.001)")
                        return ObjectIdentifier(connection)
                    }
                }
            }
            var used: Set<ObjectIdentifier> = []
            for try await connection in group { used.insert(connection) }
            return used
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [1, 2, 3])
    func `requests share the open connections when no further one can be opened`(slots: Int) async throws {
        let slots = (count: slots, opener: Slots(slots))
        let pool = try slots.opener.pool(connections: 8)
        for _ in 0..<3 { #expect(try await run(100, pool).count <= slots.count) }
        let log = slots.opener.log.withLock { $0 }
        #expect(log.count == 1 && log.allSatisfy { $0.hasSuffix("sorry, too many clients already") })
        pool.close()
    }

    @Test(.timeLimit(.minutes(2)))
    func `requests fail with the reason if no connection can be opened, and go on later`()
        async throws
    {
        let slots = Slots(0)
        let pool = try slots.pool(connections: 8)
        for _ in 0..<2 {
            let error = await #expect(throws: StorageError.self) { _ = try await run(50, pool) }
            #expect(error?.message == "sorry, too many clients already")
        }
        slots.add(8)
        #expect(try await !run(50, pool).isEmpty)
        pool.close()
    }
}
