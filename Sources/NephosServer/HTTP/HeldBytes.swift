import Synchronization

/// Bytes of the bodies that have arrived and of the answers that are being read, of all connections together.
///
/// Those of one request have their limits; those of hundreds of clients that do not read would still fill the memory. Where
/// there is no room, the connections that have held bytes longest are ended, but none within its patience; and what finds no
/// room then is to be asked again.
final class HeldBytes: Sendable {
    private struct Holding {
        let connection: WatchedConnection
        var bytes: Int
        var since: Int64
    }

    private struct State {
        var holdings: [ObjectIdentifier: Holding] = [:]
        var total = 0
    }

    /// Fewer are not counted: there are so few connections that they do not matter.
    static let counted = 64 * 1024

    private let state = Mutex(State())
    private let connections: ConnectionWatch
    private let limit: Int
    private let patience: Int64

    /// - Parameter patience: milliseconds.
    init(_ connections: ConnectionWatch, limit: Int, patience: Int64) {
        self.connections = connections
        self.limit = limit
        self.patience = patience
    }

    /// Has a connection hold so many bytes, instead of what it held.
    /// - Parameter isForced: whether it holds them in any case.
    /// - Returns: false where there is no room: then it holds nothing.
    func hold(_ bytes: Int, _ connection: WatchedConnection, isForced: Bool = false) -> Bool {
        if bytes < Self.counted {
            release(connection)
            return true
        }
        let now = WatchedConnection.now
        let (hasRoom, ended) = state.withLock { state -> (Bool, [WatchedConnection]) in
            let since = Self.remove(connection, &state)
            let ended = Self.makeRoom(for: bytes, limit, heldBefore: now - patience, &state)
            guard isForced || state.total + bytes <= limit else { return (false, ended) }
            state.holdings[ObjectIdentifier(connection)] = Holding(
                connection: connection, bytes: bytes, since: since ?? now)
            state.total += bytes
            connection.holdsBytes.store(true, ordering: .relaxed)
            return (true, ended)
        }
        for connection in ended { connections.end(connection) }
        return hasRoom
    }

    func release(_ connection: WatchedConnection) {
        guard connection.holdsBytes.exchange(false, ordering: .relaxed) else { return }
        state.withLock { _ = Self.remove(connection, &$0) }
    }

    private static func remove(_ connection: WatchedConnection, _ state: inout State) -> Int64? {
        guard let holding = state.holdings.removeValue(forKey: ObjectIdentifier(connection)) else { return nil }
        state.total -= holding.bytes
        return holding.since
    }

    /// - Returns: the connections that are to be ended for it.
    private static func makeRoom(
        for bytes: Int, _ limit: Int, heldBefore time: Int64, _ state: inout State
    ) -> [WatchedConnection] {
        guard state.total + bytes > limit else { return [] }
        var ended: [WatchedConnection] = []
        for holding in state.holdings.values.filter({ $0.since <= time }).sorted(by: { $0.since < $1.since }) {
            if state.total + bytes <= limit { break }
            _ = remove(holding.connection, &state)
            ended.append(holding.connection)
        }
        return ended
    }
}
