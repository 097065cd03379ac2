import NephosStorage
import Synchronization

/// The long polls that wait for notifications, by token. In memory: a waiting poll is a suspended task and nothing
/// else.
package final class LongPollRegistry: Sendable {
    /// A poll's receipt for the notification of the poll before it.
    package enum Receipt: Hashable, Sendable {
        /// The poll itself is the receipt, as CloudKit JS polls. A notification that was not sent in full is not
        /// acknowledged.
        case implied
        /// A receipt for exactly this one; nil acknowledges none.
        case exact(notificationID: String?)
    }

    private struct State {
        /// The latest waiting poll of each token.
        var waiters: [String: PollWaiter] = [:]
        /// The last unacknowledged notification that was handed out for each token.
        var handedOut: [String: OutboxRow] = [:]
        /// Ends expired polls. A single timer: one for each poll would cost more than the poll.
        var timer: Task<Void, Never>?
        var isClosed = false
    }

    private let state = Mutex(State())
    private let looking = WorkLoop()
    private let environment: ServiceEnvironment
    /// The duration of a poll.
    private let duration: Duration

    init(_ environment: ServiceEnvironment, pollDuration: Duration) {
        self.environment = environment
        duration = pollDuration
    }

    /// Registers a poll. It ends an earlier one of the same token: the client polls again.
    func enter(_ token: String, account: Int64) -> PollWaiter {
        let waiter = PollWaiter(enteredAt: environment.now(), account: account)
        let (old, isClosed) = state.withLock { state in
            if state.isClosed { return (state.waiters[token], true) }
            if state.timer == nil { state.timer = Task { await self.endWhatIsDue() } }
            return (state.waiters.updateValue(waiter, forKey: token), false)
        }
        old?.finish(nil)
        if isClosed { waiter.finish(nil) }
        return waiter
    }

    /// Unregisters a poll.
    func leave(_ token: String, _ waiter: PollWaiter) {
        state.withLock { state in
            if state.waiters[token] === waiter { state.waiters[token] = nil }
        }
    }

    /// Wakes the waiting polls with committed notifications.
    func wake(_ rows: [String: OutboxRow]) {
        let woken = state.withLock { state in
            rows.compactMap { token, row in state.waiters.removeValue(forKey: token).map { ($0, row) } }
        }
        for (waiter, row) in woken { waiter.finish(row) }
    }

    /// Finds commits of other servers for waiting polls, with one statement for a thousand polls.
    func look(in engine: any StorageEngine) {
        looking.wake { [self] in
            do {
                let accounts = state.withLock { $0.waiters.mapValues(\.account) }
                let tokens = Array(accounts.keys)
                for start in stride(from: 0, to: tokens.count, by: Self.tokensPerLook) {
                    let some = tokens[start..<min(start + Self.tokensPerLook, tokens.count)]
                    let keys = some.map { token in
                        OutboxDestinationKey(
                            account: accounts[token] ?? 0, destination: OutboxDestination.courier(token: token).text)
                    }
                    let rows = try await engine.read { try $0.firstOutbox(of: keys) }
                    let tokensOfKeys = Dictionary(uniqueKeysWithValues: zip(keys.map(\.destination), some))
                    wake(
                        rows.reduce(into: [:]) { found, row in
                            if let token = tokensOfKeys[row.destination] { found[token] = row }
                        })
                }
                return true
            } catch {
                environment.log("looking for the notifications of polls: \(error)")
                return false
            }
        }
    }

    private static let tokensPerLook = 1000

    // MARK: Time

    private func endWhatIsDue() async {
        while let pause = endDue() {
            try? await environment.sleep(pause)
            if Task.isCancelled { return }
        }
    }

    /// Ends expired polls; returns the time until the next expiry, nil without waiting polls.
    private func endDue() -> Duration? {
        let now = environment.now()
        let length = Int64(duration / .milliseconds(1))
        let (due, pause) = state.withLock { state -> ([PollWaiter], Duration?) in
            var due: [PollWaiter] = []
            var first = Int64.max
            for (token, waiter) in state.waiters {
                // A clock that was set back must not prolong a poll.
                if waiter.enteredAt + length <= now || waiter.enteredAt > now {
                    due.append(waiter)
                    state.waiters[token] = nil
                } else {
                    first = min(first, waiter.enteredAt + length)
                }
            }
            if state.waiters.isEmpty {
                state.timer = nil
                return (due, nil)
            }
            return (due, .milliseconds(max(first - now, Self.shortestPause)))
        }
        for waiter in due { waiter.finish(nil) }
        return pause
    }

    /// Milliseconds: polls that expire within this time end together.
    private static let shortestPause: Int64 = 250

    // MARK: Receipts

    func handOut(_ row: OutboxRow, _ token: String) {
        state.withLock { $0.handedOut[token] = row }
    }

    /// Returns and forgets the notification that a poll may acknowledge.
    func takeHandedOut(_ token: String) -> OutboxRow? {
        state.withLock { $0.handedOut.removeValue(forKey: token) }
    }

    /// Reverts a hand-out whose answer was not sent in full.
    func takeBack(_ id: Int64, _ token: String) {
        state.withLock { state in
            if state.handedOut[token]?.id == id { state.handedOut[token] = nil }
        }
    }

    /// Answers every waiting poll, and from now on every new one at once.
    func close() {
        let (waiters, timer) = state.withLock { state in
            state.isClosed = true
            defer { (state.waiters, state.timer) = ([:], nil) }
            return (Array(state.waiters.values), state.timer)
        }
        timer?.cancel()
        for waiter in waiters { waiter.finish(nil) }
    }

    /// The number of waiting polls.
    var waiting: Int { state.withLock { $0.waiters.count } }
}

/// A poll that waits or is about to; its notification may come before it waits.
final class PollWaiter: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<OutboxRow?, Never>)
        case finished(OutboxRow?)
    }

    private let state = Mutex(State.idle)
    /// Milliseconds since 1970.
    let enteredAt: Int64
    /// The account of the token.
    let account: Int64

    init(enteredAt: Int64, account: Int64) {
        self.enteredAt = enteredAt
        self.account = account
    }

    /// Ends the wait; only the first call counts.
    func finish(_ row: OutboxRow?) {
        let continuation: CheckedContinuation<OutboxRow?, Never>? = state.withLock { state in
            switch state {
            case .idle:
                state = .finished(row)
                return nil
            case .waiting(let continuation):
                state = .finished(row)
                return continuation
            case .finished: return nil
            }
        }
        continuation?.resume(returning: row)
    }

    /// - Returns: the notification; nil if the time is over, the task was cancelled, or another poll replaced this one.
    func wait() async -> OutboxRow? {
        await RequestTiming.waiting { await result() }
    }

    private func result() async -> OutboxRow? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let finished: OutboxRow?? = state.withLock { state in
                    if case .finished(let row) = state { return .some(row) }
                    state = .waiting(continuation)
                    return .none
                }
                if let finished { continuation.resume(returning: finished) }
            }
        } onCancel: {
            finish(nil)
        }
    }
}
