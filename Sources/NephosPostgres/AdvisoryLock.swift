import NephosStorage
import Synchronization

/// An advisory lock on a connection of its own, whose end releases it.
final class AdvisoryLock: StoreLock {
    private let connection: Mutex<PostgresConnection?>

    /// Waits for the lock, for `lockMilliseconds` at most. Blocks.
    init(_ name: String, _ address: PostgresAddress, _ options: PostgresOptions) throws {
        let connection = try PostgresConnection(address, options, damage: nil)
        let (first, second) = PostgresAddress.lockKey(name)
        do {
            _ = try connection.ask("SELECT pg_advisory_lock(\(first), \(second))::text")
        } catch {
            connection.close()
            throw error
        }
        self.connection = Mutex(connection)
    }

    func release() {
        connection.withLock { connection in
            connection?.close()
            connection = nil
        }
    }
}
