import NephosService
import NephosWire
import Synchronization

/// The last request of each client with an account, and its tokens of zones: in memory, of the clients that were heard
/// last.
final class ClientLog: Sendable {
    /// The maximum number of clients, and of each one's zones.
    static let (limit, zones) = (10_000, 4)
    /// The number of clients that are forgotten at once, those that were heard least recently.
    private static let step = 1000
    /// The maximum number of bytes of a name that a client chose.
    fileprivate static let nameSize = 100

    struct Key: Hashable, Sendable {
        var container: String
        var environment: ContainerEnvironment
        var account: String
        /// The client's own name; empty for clients without one.
        var client: String
    }

    struct Entry: Sendable {
        /// The time of the last request in milliseconds since 1970.
        var time: Int64
        var endpoint: String
        /// The tokens that the client got for zones of its private database, the last one last.
        var tokens: [(zoneName: String, token: String)] = []
    }

    private let clients = Mutex<[Key: Entry]>([:])

    func note(_ context: RequestContext, _ endpoint: String, at now: Int64) {
        guard let key = Key(context) else { return }
        clients.withLock { clients in
            if let tokens = clients[key]?.tokens {
                clients[key] = Entry(time: now, endpoint: endpoint, tokens: tokens)
                return
            }
            if clients.count >= Self.limit { Self.forgetOldest(&clients) }
            clients[key] = Entry(time: now, endpoint: endpoint)
        }
    }

    /// Notes the positions that an answer gives to its client.
    func note(_ answer: Any, of context: RequestContext) {
        guard context.scope == .private, let answer = answer as? any FeedAnswer, let key = Key(context) else { return }
        let tokens = answer.feeds.suffix(Self.zones).filter { $0.zoneID.zoneName.utf8.count <= 3 * Self.nameSize }
        clients.withLock { clients in
            for feed in tokens {
                clients[key]?.tokens.removeAll { $0.zoneName == feed.zoneID.zoneName }
                clients[key]?.tokens.append((feed.zoneID.zoneName, feed.syncToken))
            }
            let excess = (clients[key]?.tokens.count ?? 0) - Self.zones
            if excess > 0 { clients[key]?.tokens.removeFirst(excess) }
        }
    }

    private static func forgetOldest(_ clients: inout [Key: Entry]) {
        for (key, _) in clients.sorted(by: { $0.value.time < $1.value.time }).prefix(step) { clients[key] = nil }
    }

    /// Returns the clients of a container, those that were heard last first.
    func clients(
        of container: String, _ environment: ContainerEnvironment, limit: Int
    ) -> (clients: [(key: Key, entry: Entry)], count: Int) {
        let all = clients.withLock { clients in
            clients.filter { $0.key.container == container && $0.key.environment == environment }
        }
        return (all.sorted { $0.value.time > $1.value.time }.prefix(limit).map { ($0.key, $0.value) }, all.count)
    }

    var count: Int { clients.withLock(\.count) }
}

extension ClientLog.Key {
    /// Creates the key of a request's client; nil for a request without an account.
    fileprivate init?(_ context: RequestContext) {
        guard let account = context.account else { return nil }
        self.init(
            container: context.container, environment: context.environment, account: account,
            client: String(decoding: (context.clientID ?? "").utf8.prefix(ClientLog.nameSize), as: UTF8.self))
    }
}

/// An answer that gives its client positions in the feeds of zones.
protocol FeedAnswer {
    var feeds: [RecordZoneChanges] { get }
}

extension RecordZoneChangesResponse: FeedAnswer {
    var feeds: [RecordZoneChanges] { zones.compactMap { if case .changes(let changes) = $0 { changes } else { nil } } }
}

extension RecordChangesResponse: FeedAnswer {
    var feeds: [RecordZoneChanges] { [changes] }
}
