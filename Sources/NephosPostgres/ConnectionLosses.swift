import Synchronization

/// How often a server's connections were lost, those counted once that were made at the same time: what took one away has taken
/// them all. A server that is cut off says nothing, and each of them would be waited for.
final class ConnectionLosses: Sendable {
    private let losses = Atomic(0)

    var count: Int { losses.load(ordering: .acquiring) }

    /// Counts a lost connection, unless one of its generation was counted.
    func note(_ connection: PostgresConnection) {
        _ = losses.compareExchange(
            expected: connection.lossesBefore, desired: connection.lossesBefore + 1, ordering: .acquiringAndReleasing)
    }

    /// Makes a connection, and notes what was lost before.
    func opening(_ open: () throws -> PostgresConnection) rethrows -> PostgresConnection {
        let count = count
        let connection = try open()
        connection.lossesBefore = count
        return connection
    }
}
