import Synchronization

/// Bytes of the bodies that have arrived and of the answers that are being read, of all connections together.
///
/// Those of one request have their limits; those of hundreds of clients that do not read would still fill the memory. Where
/// there is no room, the connections that have held bytes longest are ended, but none within its patience nor while its
/// request is worked on; and what finds no room then is to be asked again.
final class HeldBytes: Sendable {
    /// What a connection holds bytes of.
    enum Part {
        case arrivingBody
        /// The body of a request whose handler runs. What came of it is to be told, so it is not ended.
        case request
        case answer
    }

    private struct Holding {
        let connection: WatchedConnection
        let part: Part
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
    /// - Parameter isForced: whether it holds them in any case, and others are ended for it without patience.
    /// - Returns: false where there is no room: then it holds nothing.
    func hold(_ bytes: Int, _ part: Part, _ connection: WatchedConnection, isForced: Bool = false) -> Bool {
        if bytes < Self.counted {
            release(connection)
            return true
        }
        let now = WatchedConnection.now
        let (hasRoom, ended) = state.withLock { state -> (Bool, [WatchedConnection]) in
            let former = Self.remove(connection, &state)
            let ended = makeRoom(for: bytes, heldBefore: isForced ? now : now - patience, isForced, &state)
            guard isForced || state.total + bytes <= limit else { return (false, ended) }
            let since = former?.part == part ? former?.since ?? now : now
            state.holdings[ObjectIdentifier(connection)] = Holding(
                connection: connection, part: part, bytes: bytes, since: since)
            state.total += bytes
            connection.holdsBytes.store(true, ordering: .relaxed)
            return (true, ended)
        }
        for connection in ended { connections.end(connection) }
        return hasRoom
    }

    /// Whether a body may begin to arrive that will be counted.
    var hasRoom: Bool {
        let time = WatchedConnection.now - patience
        return state.withLock { state in
            state.total + Self.counted <= limit || state.holdings.values.contains { Self.mayEnd($0, heldBefore: time) }
        }
    }

    /// Some of what a connection holds was read: its patience begins anew.
    func renew(_ connection: WatchedConnection) {
        guard connection.holdsBytes.load(ordering: .relaxed) else { return }
        state.withLock { $0.holdings[ObjectIdentifier(connection)]?.since = WatchedConnection.now }
    }

    func release(_ connection: WatchedConnection) {
        guard connection.holdsBytes.exchange(false, ordering: .relaxed) else { return }
        state.withLock { _ = Self.remove(connection, &$0) }
    }

    private static func remove(_ connection: WatchedConnection, _ state: inout State) -> Holding? {
        guard let holding = state.holdings.removeValue(forKey: ObjectIdentifier(connection)) else { return nil }
        state.total -= holding.bytes
        return holding
    }

    private static func mayEnd(_ holding: Holding, heldBefore time: Int64) -> Bool {
        holding.part != .request && holding.since <= time
    }

    /// Ends none where all that may be ended are not enough, unless it is forced.
    /// - Returns: the connections that are to be ended for it.
    private func makeRoom(
        for bytes: Int, heldBefore time: Int64, _ isForced: Bool, _ state: inout State
    ) -> [WatchedConnection] {
        guard state.total + bytes > limit else { return [] }
        let old = state.holdings.values.filter { Self.mayEnd($0, heldBefore: time) }.sorted { $0.since < $1.since }
        guard isForced || state.total - old.reduce(0, { $0 + $1.bytes }) + bytes <= limit else { return [] }
        var ended: [WatchedConnection] = []
        for holding in old where state.total + bytes > limit {
            _ = Self.remove(holding.connection, &state)
            ended.append(holding.connection)
        }
        return ended
    }
}
