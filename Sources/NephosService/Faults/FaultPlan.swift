import Synchronization

/// The faults of a service: which requests fail, and how. It exists from the first fault on that a test or developer asks for.
package final class FaultPlan: Sendable {
    /// A rule, and what it did so far.
    package struct Entry: Sendable {
        /// A number that no other rule of the plan has, from 1.
        package let id: Int
        package let rule: FaultRule
        /// How many requests or items matched.
        package internal(set) var matches = 0
        /// How many of them failed.
        package internal(set) var happened = 0
    }

    struct State {
        var entries: [Entry] = []
        var nextID = 1
        var generator: SplitMix
        /// The devices that reach no service.
        var offline: Set<String> = []
        /// The change tokens that a fault expired; they stay so, as real ones do.
        var expired: Set<ClientToken> = []
        /// The answers of which a client has a part.
        var cut: [CutAnswer] = []
        var bounds: ServiceBounds?
        var unfriendliness: Unfriendliness?
        /// When the valid change tokens were last given out, in milliseconds; only with bounds.
        var tokens: [ClientToken: Int64] = [:]
        /// The requests that the service has not answered yet.
        var running = 0
        /// What holds requests, in the order in which it was asked for.
        var holds: [RequestHold] = []
        /// The answers of which a client has a part, and whose rest is held.
        var heldRests: [(follower: CutAnswer.Follower, holds: [RequestHold])] = []
        var counters: [RequestCounter] = []
        /// The maximum number of change tokens that the plan stores.
        let tokenLimit: Int
    }

    let state: Mutex<State>
    /// The timeout of held requests and of those of terminated apps.
    package let idleTimeout = IdleTimeout()

    /// - Parameters:
    ///   - seed: decides what happens with a probability.
    ///   - tokenLimit: the maximum number of clients' change tokens that the plan stores.
    package init(seed: UInt64 = 0, tokenLimit: Int = 100_000) {
        state = Mutex(State(generator: SplitMix(state: seed), tokenLimit: tokenLimit))
    }

    /// Adds a fault.
    /// - Returns: its ID.
    @discardableResult
    package func add(_ rule: FaultRule) -> Int {
        state.withLock { state in
            defer { state.nextID += 1 }
            state.entries.append(Entry(id: state.nextID, rule: rule))
            return state.nextID
        }
    }

    /// Removes a fault, with what it still has in store for a client.
    package func remove(_ id: Int) {
        state.withLock { state in
            state.entries.removeAll { $0.id == id }
            state.cut.removeAll { $0.entry == id }
        }
    }

    /// Removes the faults of a container.
    func removeAll(ofContainer container: String) {
        state.withLock { state in
            state.entries.removeAll { $0.rule.address.container == container }
            state.cut.removeAll { $0.follower.container == container }
        }
    }

    package var entries: [Entry] { state.withLock { $0.entries } }

    /// Has a device reach the service, or not.
    package func setOffline(_ isOffline: Bool, device: String) {
        state.withLock { state in
            if isOffline { state.offline.insert(device) } else { state.offline.remove(device) }
        }
    }

    /// Whether a request's device is offline.
    func isOffline(_ context: RequestContext) -> Bool {
        guard let device = context.clientID else { return false }
        return state.withLock { $0.offline.contains(device) }
    }

    /// Has the service keep smaller limits; nil for CloudKit's.
    package func setBounds(_ bounds: ServiceBounds?) { state.withLock { $0.bounds = bounds } }

    package var bounds: ServiceBounds? { state.withLock { $0.bounds } }

    /// Has the service do what is legal and rarely seen, by a seed; nil for a friendly service.
    package func setUnfriendly(seed: UInt64?) {
        state.withLock { $0.unfriendliness = seed.map(Unfriendliness.init(seed:)) }
    }

    package var isUnfriendly: Bool { state.withLock { $0.unfriendliness != nil } }

    /// What happens to a notification.
    package func treatment() -> NotificationTreatment {
        state.withLock { $0.unfriendliness?.delivery() ?? .normal }
    }

    /// Returns what the client gets instead of an answer.
    func changed<Response: Sendable>(
        _ response: Response, to request: some Sendable, _ context: RequestContext
    ) -> Response {
        state.withLock { state in
            state.unfriendliness?.changed(response, to: request, context) ?? response
        }
    }

    /// How many requests the service has not answered yet, waits for notifications aside.
    package var running: Int { state.withLock { $0.running } }

    func count(_ change: Int) { state.withLock { $0.running += change } }

    /// A change token that a client has. The service gives the same token again where nothing changed meanwhile.
    struct ClientToken: Hashable {
        let client: String?
        let token: String
    }

    /// Notes the change tokens of an answer: a client that has them anew has no expired ones.
    func note(_ tokens: [String?], of client: String?, now: Int64) {
        state.withLock { state in
            if state.bounds == nil, state.expired.isEmpty { return }
            for case let token? in tokens {
                state.expired.remove(ClientToken(client: client, token: token))
                if state.bounds != nil { state.tokens[ClientToken(client: client, token: token)] = now }
            }
            state.evictTokens()
        }
    }

    /// Expires the tokens of a request that were given out too long ago.
    func expire(_ tokens: [String?], of client: String?, now: Int64) {
        state.withLock { state in
            guard let lifetime = state.bounds?.tokenLifetime else { return }
            for case let token? in tokens.map({ $0.map { ClientToken(client: client, token: $0) } }) {
                if let given = state.tokens[token], given + lifetime < now { state.expired.insert(token) }
            }
        }
    }

    func expire(_ token: String?, of client: String?) {
        guard let token else { return }
        state.withLock { _ = $0.expired.insert(ClientToken(client: client, token: token)) }
    }

    func hasExpired(_ token: String?, of client: String?) -> Bool {
        guard let token else { return false }
        return state.withLock { $0.expired.contains(ClientToken(client: client, token: token)) }
    }

    /// Has the request fail that asks for the rest of an answer.
    func cut(_ answer: CutAnswer) { state.withLock { $0.cut.append(answer) } }

    /// Decides what happens to a request, and counts it.
    /// - Parameters:
    ///   - follower: how the request asks for the rest of an answer.
    ///   - own: the fault that the request itself asks for; nil for none.
    func decide(
        _ items: [FaultItem], _ context: RequestContext, following follower: CutAnswer.Follower? = nil,
        own: FaultRule? = nil
    ) -> FaultDecision {
        state.withLock { $0.decide(items, context, following: follower, own: own) }
    }
}

/// What happens to one request.
struct FaultDecision: Sendable {
    /// What the whole request fails with.
    var request: FaultRule?
    /// The ID of that fault in the plan; nil for one that the request itself asked for.
    var entry: Int?
    /// What items of it fail with, by their places.
    var items: [Int: FaultRule] = [:]

    var isEmpty: Bool { request == nil && items.isEmpty }
}

extension FaultPlan.State {
    /// Evicts the tokens that were given out first, so that a server that runs for long keeps a bounded number. Evicted tokens
    /// are valid again.
    mutating func evictTokens() {
        if expired.count > tokenLimit { expired = [] }
        guard tokens.count > tokenLimit else { return }
        let times = tokens.values.sorted()
        let median = times[times.count / 2]
        tokens = tokens.filter { $0.value > median }
    }

    /// The ID of the fault that a request itself asks for. It is in the plan for that request alone.
    private static let ownID = 0

    mutating func decide(
        _ items: [FaultItem], _ context: RequestContext, following follower: CutAnswer.Follower?, own: FaultRule?
    ) -> FaultDecision {
        var decision = FaultDecision()
        if let follower, let index = cut.firstIndex(where: { $0.follower.isFollowed(by: follower) }) {
            decision.request = cut.remove(at: index).rule
            return decision
        }
        if let own { entries.insert(FaultPlan.Entry(id: Self.ownID, rule: own), at: 0) }
        defer { entries.removeAll { $0.id == Self.ownID } }
        // A rule that another one hides is not counted: it waits for the next request.
        let matching = entries.indices.filter {
            entries[$0].rule.problem == nil && entries[$0].rule.address.matches(context)
        }
        for index in matching where !entries[index].rule.concernsItems && decision.request == nil {
            let rule = entries[index].rule
            if items.contains(where: rule.matches), happens(index) {
                decision.request = rule
                decision.entry = entries[index].id == Self.ownID ? nil : entries[index].id
            }
        }
        if decision.request != nil { return decision }
        for index in matching where entries[index].rule.concernsItems {
            let rule = entries[index].rule
            for place in items.indices
            where decision.items[place] == nil && rule.matches(items[place]) && happens(index) {
                decision.items[place] = rule
            }
        }
        return decision
    }

    /// Counts a match of an entry. Returns whether it fails.
    private mutating func happens(_ index: Int) -> Bool {
        entries[index].matches += 1
        let fails = entries[index].rule.occurrence.means(entries[index].matches, &generator)
        if fails { entries[index].happened += 1 }
        return fails
    }
}
