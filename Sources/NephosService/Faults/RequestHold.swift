import Synchronization

/// Stops the requests of an address on their way, until it is released.
package final class RequestHold: Sendable {
    package let address: RequestAddress
    package let occurrence: FaultRule.Occurrence
    package let stage: FaultRule.Stage
    /// Opens with the first request that is held.
    package let arrival = Latch()
    private let end = Latch()
    /// Nil for one that may hold for ever.
    private let idleTimeout: IdleTimeout?

    private struct State {
        var matches = 0
        var held = 0
        var hasTimedOut = false
    }

    private let state = Mutex(State())

    package init(
        _ address: RequestAddress, _ occurrence: FaultRule.Occurrence, at stage: FaultRule.Stage,
        _ idleTimeout: IdleTimeout?
    ) {
        self.idleTimeout = idleTimeout
        self.address = address
        self.occurrence = occurrence
        self.stage = stage
    }

    /// How many requests matched.
    package var matches: Int { state.withLock { $0.matches } }
    /// How many of them were held.
    package var held: Int { state.withLock { $0.held } }
    /// Whether a request was held for so long that its test cannot release it any more.
    package var hasTimedOut: Bool { state.withLock { $0.hasTimedOut } }
    /// Why no request can ever be held; nil if one can.
    package var problem: String? { address.problem ?? occurrence.problem }

    /// Lets the held requests go on.
    package func release() { end.open() }

    /// Counts a request that matches. Returns whether it is held.
    fileprivate func takes(_ generator: inout SplitMix) -> Bool {
        let number = state.withLock { state in
            state.matches += 1
            return state.matches
        }
        return occurrence.means(number, &generator)
    }

    /// Returns once the request is released.
    /// - Throws: `operationCancelled` if the caller's task is cancelled, also where the release comes at the same time, and
    ///   if its test cannot release it any more.
    func hold() async throws(ServiceError) {
        state.withLock { $0.held += 1 }
        arrival.open()
        var reason: String?
        if let idleTimeout {
            if !(await idleTimeout.wait(for: end)) {
                state.withLock { $0.hasTimedOut = true }
                reason = "The request was held, and not released"
            }
        } else {
            await end.wait()
        }
        if Task.isCancelled { reason = "The request was cancelled while it was held" }
        guard let reason else { return }
        var error = FaultRule(.any, .operationCancelled).error()
        error.reason = reason
        throw error
    }
}

/// Counts the requests of an address.
package final class RequestCounter: Sendable {
    package let address: RequestAddress
    private let number = Atomic(0)

    package init(_ address: RequestAddress) { self.address = address }

    package var count: Int { number.load(ordering: .relaxed) }
    fileprivate func add() { number.add(1, ordering: .relaxed) }
}

extension FaultPlan {
    package func add(_ hold: RequestHold) { state.withLock { $0.holds.append(hold) } }

    /// Has the hold stop no further requests, and lets those go on that it stopped.
    package func release(_ hold: RequestHold) {
        state.withLock { state in
            state.holds.removeAll { $0 === hold }
            for place in state.heldRests.indices { state.heldRests[place].holds.removeAll { $0 === hold } }
            state.heldRests.removeAll(where: \.holds.isEmpty)
        }
        hold.release()
    }

    /// Whether a client has the first half of an answer, and the hold waits for its request for the rest.
    package func awaitsRest(_ hold: RequestHold) -> Bool {
        state.withLock { $0.heldRests.contains { $0.holds.contains { $0 === hold } } }
    }

    package func add(_ counter: RequestCounter) { state.withLock { $0.counters.append(counter) } }
    package func remove(_ counter: RequestCounter) { state.withLock { $0.counters.removeAll { $0 === counter } } }

    /// Counts a request that a client sends.
    func note(_ items: [FaultItem], _ context: RequestContext) {
        // A wait for notifications goes on by itself.
        if !items.contains(where: { $0.operation == .notification }) { idleTimeout.noteRequest() }
        let counters = state.withLock { $0.counters }
        for counter in counters where counter.address.matches(items, context) { counter.add() }
    }

    /// What holds a request that arrives, and where.
    /// - Parameter follower: how the request asks for the rest of an answer.
    func holds(
        of items: [FaultItem], _ context: RequestContext, following follower: CutAnswer.Follower? = nil
    ) -> RequestHolds {
        state.withLock { state in
            var holds = RequestHolds()
            if let follower, let place = state.heldRests.firstIndex(where: { $0.follower.isFollowed(by: follower) }) {
                holds.before = state.heldRests.remove(at: place).holds
                return holds
            }
            for hold in state.holds
            where hold.problem == nil && hold.address.matches(items, context) && hold.takes(&state.generator) {
                switch hold.stage {
                case .before: holds.before.append(hold)
                case .after: holds.after.append(hold)
                case .amid: holds.amid.append(hold)
                }
            }
            return holds
        }
    }

    /// Has the request held that asks for the rest of an answer.
    func hold(_ holds: [RequestHold], from follower: CutAnswer.Follower) {
        state.withLock { $0.heldRests.append((follower, holds)) }
    }
}

/// What holds one request.
struct RequestHolds: Sendable {
    var before: [RequestHold] = []
    var after: [RequestHold] = []
    var amid: [RequestHold] = []
}
