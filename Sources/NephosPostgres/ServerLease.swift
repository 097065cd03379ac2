import NephosStorage
import Synchronization

/// Keeps the stores of a database to one process: an advisory lock, which a connection holds as long as it lives.
final class ServerLease: Sendable {
    private struct Held: @unchecked Sendable {
        // Unchecked: it is used under the lock alone.
        var connection: PostgresConnection?
    }

    private let held = Mutex(Held())
    private let address: PostgresAddress
    private let options: PostgresOptions

    init(_ address: PostgresAddress, _ options: PostgresOptions) {
        self.address = address
        self.options = options
    }

    /// Takes the lock, if it was lost with its connection or not taken yet.
    /// - Throws: `StorageError` `.inUse` if another process has it.
    func renew() throws {
        try held.withLock { held in
            if let connection = held.connection, (try? connection.ask("SELECT '1'")) != nil { return }
            held.connection?.close()
            held.connection = nil
            let connection = try PostgresConnection(address, options, damage: nil)
            let key = PostgresAddress.lockKey("\(options.prefix) server")
            let take = "SELECT pg_try_advisory_lock(\(key.0), \(key.1))::text"
            var isTaken = try connection.ask(take).first?.first == "true"
            // PostgreSQL notices a moment later that a process which held it is gone.
            for _ in 0..<10 where !isTaken {
                EngineThread.sleep(nanoseconds: 100_000_000)
                isTaken = try connection.ask(take).first?.first == "true"
            }
            guard isTaken else {
                connection.close()
                throw StorageError(
                    .inUse, "Another server has this PostgreSQL database open, and one at a time may: stop it first.")
            }
            held.connection = connection
        }
    }

    func release() {
        held.withLock { held in
            held.connection?.close()
            held.connection = nil
        }
    }
}
