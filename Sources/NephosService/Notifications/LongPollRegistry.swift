import NephosStorage
import Synchronization

/// The long polls that wait for notifications, by token. The registry is in memory: a waiting poll is only a suspended
/// task.
package final class LongPollRegistry: Sendable {
    /// A poll's acknowledgement of the notification that the previous poll returned.
    package enum Receipt: Hashable, Sendable {
        /// The poll itself is the receipt, as with the polls of CloudKit JS. A notification that was not sent in full
        /// is not acknowledged.
        case implied
        /// A receipt for the notification with exactly this ID; nil acknowledges no notification.
        case exact(notificationID: String?)
    }

    private struct State {
        /// The waiting poll of each token. A later poll of a token replaces an earlier one.
        var waiters: [String: PollWaiter] = [:]
        /// The last notification that a poll of each token received and has not acknowledged.
        var handedOut: [String: OutboxRow] = [:]
        /// The notification of each token whose response was not sent, until the shared store says so too.
        var takenBack: [String: Int64] = [:]
        /// The task that ends expired polls. One timer serves all polls: a timer for each poll would cost more than the
        /// poll.
        var timer: Task<Void, Never>?
        var isClosed = false
    }

    private let state = Mutex(State())
    private let looking = WorkLoop()
    private let environment: ServiceEnvironment
    /// The maximum duration of a poll.
    private let duration: Duration

    init(_ environment: ServiceEnvironment, pollDuration: Duration) {
        self.environment = environment
        duration = pollDuration
    }

    /// Registers a poll. An earlier poll of the same token ends, because its client polls again.
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

    /// Wakes the polls that wait for these committed notifications.
    func wake(_ rows: [String: OutboxRow]) {
        let woken = state.withLock { state in
            rows.compactMap { token, row in state.waiters.removeValue(forKey: token).map { ($0, row) } }
        }
        for (waiter, row) in woken { waiter.finish(row) }
    }

    /// Finds notifications that other servers committed for waiting polls, with one statement for a thousand polls.
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
        while let next = endDue() {
            try? await environment.sleepUntil(next)
            if Task.isCancelled { return }
        }
    }

    /// Ends expired polls. Returns the time at which the next poll expires; nil if no poll is waiting.
    private func endDue() -> Int64? {
        let length = Int64(duration / .milliseconds(1))
        let (due, next) = state.withLock { state -> ([PollWaiter], Int64?) in
            // Under the lock: a poll that enters later would seem to come from the future.
            let now = environment.now()
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
            return (due, max(first, now + Self.shortestPause))
        }
        for waiter in due { waiter.finish(nil) }
        return next
    }

    /// The minimum number of milliseconds between two checks: polls that expire within this time end together.
    private static let shortestPause: Int64 = 250

    // MARK: Receipts

    func handOut(_ row: OutboxRow, _ token: String) {
        state.withLock { $0.handedOut[token] = row }
    }

    /// Removes and returns the notification that the token's next poll may acknowledge; nil if there is none.
    func takeHandedOut(_ token: String) -> OutboxRow? {
        state.withLock { $0.handedOut.removeValue(forKey: token) }
    }

    /// Reverts the hand-out of a notification whose response was not sent in full.
    func takeBack(_ id: Int64, _ token: String) {
        state.withLock { state in
            if state.handedOut[token]?.id == id { state.handedOut[token] = nil }
        }
    }

    /// Notes the same for a store that several servers share, while the store is being told.
    func beginTakingBack(_ id: Int64, _ token: String) { state.withLock { $0.takenBack[token] = id } }

    func endTakingBack(_ id: Int64, _ token: String) {
        state.withLock { state in
            if state.takenBack[token] == id { state.takenBack[token] = nil }
        }
    }

    func isTakingBack(_ id: Int64, _ token: String) -> Bool { state.withLock { $0.takenBack[token] == id } }

    /// Ends every waiting poll without a notification. From now on, every new poll ends at once.
    func close() {
        let (waiters, timer) = state.withLock { state in
            state.isClosed = true
            defer { (state.waiters, state.timer) = ([:], nil) }
            return (Array(state.waiters.values), state.timer)
        }
        timer?.cancel()
        for waiter in waiters { waiter.finish(nil) }
    }

    /// The number of waiting polls, over all tokens.
    var waiting: Int { state.withLock { $0.waiters.count } }
}

/// A poll that waits or is about to wait. Its notification may arrive before it waits.
final class PollWaiter: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<OutboxRow?, Never>)
        case finished(OutboxRow?)
    }

    private let state = Mutex(State.idle)
    /// The time at which the poll began, in milliseconds since 1970.
    let enteredAt: Int64
    /// The account of the poll's token.
    let account: Int64

    init(enteredAt: Int64, account: Int64) {
        self.enteredAt = enteredAt
        self.account = account
    }

    /// Ends the wait. Only the first call has an effect.
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

    /// - Returns: the notification; nil if the poll expired, its task was cancelled, or another poll replaced it.
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
