import NephosThreads
import Synchronization

/// The memory budget for arrived bodies and answers in transit, over all connections.
///
/// Each request has limits of its own, but hundreds of clients that do not read would still fill the memory. Beyond the
/// limit, the holder of the most bytes loses connections, the oldest first, but never one with a request in progress. A
/// holder of fewer bytes than the caller loses none. The caller's own connections are evicted only after their
/// patience, and so are those of a holder that would end up below the caller. If eviction cannot free enough, the
/// caller has to retry.
final class HeldBytes: Sendable {
    /// The kind of bytes that a connection holds.
    enum Part {
        case arrivingBody
        /// The body of a request with a running handler. The handler's outcome must be reported, so this part is never
        /// evicted.
        case request
        case answer
    }

    private struct Holding {
        let connection: WatchedConnection
        let holder: Holder
        let part: Part
        var bytes: Int
        var since: Int64
    }

    private struct State {
        var holdings: [ObjectIdentifier: Holding] = [:]
        var total = 0
    }

    /// The minimum size in bytes of a body or answer that counts. The connection limit bounds the memory for smaller
    /// ones.
    static let counted = 64 * 1024

    private let state = Mutex(State())
    private let connections: ConnectionWatch
    private let limit: Int
    private let patience: Int64

    /// - Parameter patience: the time in milliseconds after which a connection may be evicted for its own holder.
    init(_ connections: ConnectionWatch, limit: Int, patience: Int64) {
        self.connections = connections
        self.limit = limit
        self.patience = patience
    }

    /// Sets the number of bytes that a connection holds, replacing the former number.
    /// - Parameters:
    ///   - holder: the account or network address of the connection.
    ///   - isForced: whether the connection holds the bytes in any case. The holder's other connections are evicted for
    ///     them, regardless of their patience.
    /// - Returns: false if the bytes do not fit. The connection then holds none.
    func hold(
        _ bytes: Int, _ part: Part, _ connection: WatchedConnection, for holder: @autoclosure () -> Holder,
        isForced: Bool = false
    ) -> Bool {
        if bytes < Self.counted {
            release(connection)
            return true
        }
        let holder = holder()
        let now = MonotonicTime.now.milliseconds
        let ended = state.withLock { state -> [WatchedConnection]? in
            let former = Self.remove(connection, &state)
            if part == .request, Self.requests(of: holder, state) + bytes > limit / 2 { return nil }
            guard let ended = makeRoom(for: bytes, holder, now, isForced, state) else { return nil }
            for connection in ended { _ = Self.remove(connection, &state) }
            let since = former?.part == part ? former?.since ?? now : now
            state.holdings[ObjectIdentifier(connection)] = Holding(
                connection: connection, holder: holder, part: part, bytes: bytes, since: since)
            state.total += bytes
            connection.holdsBytes.store(true, ordering: .relaxed)
            return ended
        }
        for connection in ended ?? [] { connections.end(connection) }
        return ended != nil
    }

    /// Whether a body that is large enough to be counted may begin to arrive.
    func hasRoom(for holder: Holder) -> Bool {
        state.withLock { makeRoom(for: Self.counted, holder, MonotonicTime.now.milliseconds, false, $0) != nil }
    }

    /// Restarts the patience of a connection, because its client read some of the held bytes.
    func renew(_ connection: WatchedConnection) {
        guard connection.holdsBytes.load(ordering: .relaxed) else { return }
        state.withLock { $0.holdings[ObjectIdentifier(connection)]?.since = MonotonicTime.now.milliseconds }
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

    /// Returns the bytes of a holder's requests in progress. They cannot be evicted, so they are limited to half of the
    /// budget.
    private static func requests(of holder: Holder, _ state: State) -> Int {
        state.holdings.values.reduce(0) { $0 + ($1.part == .request && $1.holder == holder ? $1.bytes : 0) }
    }

    /// - Returns: the connections to evict so that the caller's bytes fit; nil if eviction cannot free enough.
    private func makeRoom(
        for bytes: Int, _ asker: Holder, _ now: Int64, _ isForced: Bool, _ state: State
    ) -> [WatchedConnection]? {
        var missing = state.total + bytes - limit
        guard missing > 0 else { return [] }
        var totals = [asker: bytes]
        for holding in state.holdings.values { totals[holding.holder, default: 0] += holding.bytes }
        // The list of each holder ends with its oldest connection. A request in progress is never evicted.
        var mayEnd = Dictionary(grouping: state.holdings.values.filter { $0.part != .request }, by: \.holder)
            .mapValues { $0.sorted { $0.since > $1.since } }
        func since(_ holder: Holder) -> Int64 { mayEnd[holder]?.last?.since ?? .max }
        var ended: [WatchedConnection] = []
        while missing > 0 {
            let most = mayEnd.keys.max { left, right in
                let (first, second) = (totals[left, default: 0], totals[right, default: 0])
                return first == second ? since(left) > since(right) : first < second
            }
            guard let most else { return isForced ? ended : nil }
            let (held, own) = (totals[most, default: 0], totals[asker, default: 0])
            let isLate = since(most) <= now - patience
            let isAllowed = most == asker ? isForced || isLate : held > own || isLate && held > own - bytes
            if isAllowed, let oldest = mayEnd[most]?.popLast() {
                totals[most] = held - oldest.bytes
                missing -= oldest.bytes
                ended.append(oldest.connection)
            } else {
                mayEnd[most] = nil
            }
        }
        return ended
    }
}
