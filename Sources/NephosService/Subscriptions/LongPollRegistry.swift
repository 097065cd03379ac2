import NephosStorage
import Synchronization

/// Where polls wait for the notifications of their tokens: in memory, a waiting poll being a suspended task and nothing
/// else.
package final class LongPollRegistry: Sendable {
    /// What a poll says of the notification that the poll before it got.
    package enum Receipt: Hashable, Sendable {
        /// That it came for one is the receipt, as CloudKit JS polls. A notification that was not sent in full does not
        /// count.
        case implied
        /// Exactly this one; nil is none.
        case exact(notificationID: String?)
    }

    private struct State {
        /// The poll that waits by a token: the last that came.
        var waiters: [String: PollWaiter] = [:]
        /// The notification that was given last by a token, and of which no receipt has come.
        var handedOut: [String: OutboxRow] = [:]
        /// Ends the polls whose time is over. One for all of them: a timer for each would cost more than its poll.
        var timer: Task<Void, Never>?
        var isClosed = false
    }

    private let state = Mutex(State())
    private let looking = WorkLoop()
    private let environment: ServiceEnvironment
    /// How long a poll waits.
    private let duration: Duration

    init(_ environment: ServiceEnvironment, pollDuration: Duration) {
        self.environment = environment
        duration = pollDuration
    }

    /// Takes a poll in. One that waits by the same token is over: its client came again.
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

    /// Lets a poll out.
    func leave(_ token: String, _ waiter: PollWaiter) {
        state.withLock { state in
            if state.waiters[token] === waiter { state.waiters[token] = nil }
        }
    }

    /// Gives committed notifications to the polls that wait for them.
    func wake(_ rows: [String: OutboxRow]) {
        let woken = state.withLock { state in
            rows.compactMap { token, row in state.waiters.removeValue(forKey: token).map { ($0, row) } }
        }
        for (waiter, row) in woken { waiter.finish(row) }
    }

    /// Finds in the store what others committed for waiting polls: one statement for a thousand of them.
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

    /// Ends the polls whose time is over; returns the time until it may be again for one, nil if none waits.
    private func endDue() -> Duration? {
        let now = environment.now()
        let length = Int64(duration / .milliseconds(1))
        let (due, pause) = state.withLock { state -> ([PollWaiter], Duration?) in
            var due: [PollWaiter] = []
            var first = Int64.max
            for (token, waiter) in state.waiters {
                // A clock that was set back must not make anybody wait longer.
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

    /// Milliseconds: those whose time is over soon after each other end together.
    private static let shortestPause: Int64 = 250

    // MARK: Receipts

    func handOut(_ row: OutboxRow, _ token: String) {
        state.withLock { $0.handedOut[token] = row }
    }

    /// The notification whose receipt a poll may be. Asked once: it is forgotten.
    func takeHandedOut(_ token: String) -> OutboxRow? {
        state.withLock { $0.handedOut.removeValue(forKey: token) }
    }

    /// The answer with a notification did not get through.
    func takeBack(_ id: Int64, _ token: String) {
        state.withLock { state in
            if state.handedOut[token]?.id == id { state.handedOut[token] = nil }
        }
    }

    /// Answers every waiting poll; from now on none waits.
    func close() {
        let (waiters, timer) = state.withLock { state in
            state.isClosed = true
            defer { (state.waiters, state.timer) = ([:], nil) }
            return (Array(state.waiters.values), state.timer)
        }
        timer?.cancel()
        for waiter in waiters { waiter.finish(nil) }
    }

    /// How many polls wait.
    var waiting: Int { state.withLock { $0.waiters.count } }
}

/// One poll that waits, or is about to. What it waits for may come before it waits.
final class PollWaiter: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<OutboxRow?, Never>)
        case finished(OutboxRow?)
    }

    private let state = Mutex(State.idle)
    /// In milliseconds since 1970.
    let enteredAt: Int64
    /// Whose token it is.
    let account: Int64

    init(enteredAt: Int64, account: Int64) {
        self.enteredAt = enteredAt
        self.account = account
    }

    /// Ends the wait; only the first time counts.
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

    /// - Returns: the notification; nil where the time is over, the task was cancelled, or another poll took its place.
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
