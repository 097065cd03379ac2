import CCurl
import Glibc
import NephosThreads
import Synchronization

/// The thread of libcurl, with its inbox. It starts with the first request and ends when the client closes.
final class TransferThread: Sendable {
    /// The maximum idle time in seconds of a connection that is used again. Servers close connections that have been
    /// idle for a minute or longer. A request that meets such a close cannot be distinguished from one that the server
    /// executed.
    static let idleConnectionSeconds = 30

    struct Options: Sendable {
        var certificates: String?
        var requestsAtOnce: Int
        var connectionsPerHost: Int
    }

    /// The requests from other threads to this thread.
    struct Inbox {
        var submissions: [Transfer.Submission] = []
        var cancelled: [UInt64] = []
        var resumed: [UInt64] = []

        var isEmpty: Bool { submissions.isEmpty && cancelled.isEmpty && resumed.isEmpty }
    }

    private enum Life {
        case new, running, closed
    }

    private struct State {
        var life = Life.new
        var inbox = Inbox()
        /// Whether the thread waits, or is about to wait, and has not been woken.
        var isAsleep = false
        /// The descriptor that wakes the thread; -1 for none.
        var wake: Int32 = -1
    }

    private let state = Mutex(State())
    private let options: Options

    init(_ options: Options) {
        self.options = options
    }

    // MARK: - From any thread

    func submit(_ submission: Transfer.Submission) {
        let failure = state.withLock { state -> HTTPFailure? in
            if state.life == .closed { return .closed }
            if state.life == .new, let failure = start() { return failure }
            state.life = .running
            state.inbox.submissions.append(submission)
            Self.wake(&state)
            return nil
        }
        if let failure { Self.refuse(submission, failure) }
    }

    func cancel(_ id: UInt64) {
        tell { $0.cancelled.append(id) }
    }

    /// Resumes a transfer after the caller's stream has become ready.
    func resume(_ id: UInt64) {
        tell { $0.resumed.append(id) }
    }

    func close() {
        state.withLock { state in
            state.life = .closed
            Self.wake(&state)
        }
    }

    private func tell(_ body: (inout Inbox) -> Void) {
        state.withLock { state in
            guard state.life == .running else { return }
            body(&state.inbox)
            Self.wake(&state)
        }
    }

    /// Wakes the thread. Called under the lock, so that the descriptor cannot be closed meanwhile.
    private static func wake(_ state: inout State) {
        guard state.isAsleep, state.wake >= 0 else { return }
        state.isAsleep = false
        var one: UInt64 = 1
        _ = write(state.wake, &one, MemoryLayout<UInt64>.size)
    }

    static func refuse(_ submission: Transfer.Submission, _ failure: HTTPFailure) {
        submission.upload?.close()
        submission.download?.end()
        submission.continuation.resume(returning: .failure(failure))
    }

    /// - Returns: the failure if the system cannot create a thread; nil otherwise.
    private func start() -> HTTPFailure? {
        do {
            try NativeThread.start("transfers", blocksSignals: true) { [self] in run() }
            return nil
        } catch {
            return HTTPFailure(.system, "\(error)")
        }
    }

    // MARK: - On the thread

    private func run() {
        guard let sockets = CurlSockets(connectionsPerHost: options.connectionsPerHost) else {
            return end([], HTTPFailure(.system, "libcurl cannot be started"))
        }
        state.withLock { $0.wake = sockets.wake }
        let transfers = TransferSet(
            sockets.multi, certificates: options.certificates, requestsAtOnce: options.requestsAtOnce)
        while let inbox = takeInbox() {
            transfers.take(inbox)
            sockets.actOnTimer()
            transfers.finishDone()
            let deadline = transfers.failLate()
            // Requests that were submitted meanwhile start before the thread waits.
            guard isResting() else { continue }
            sockets.wait(until: deadline)
            transfers.finishDone()
        }
        end(transfers.removeAll(), .closed)
    }

    /// Returns the inbox; nil once the thread has to end.
    private func takeInbox() -> Inbox? {
        state.withLock { state in
            state.isAsleep = false
            guard state.life != .closed else { return nil }
            defer { state.inbox = Inbox() }
            return state.inbox
        }
    }

    /// Whether the thread has no request. If so, submitting a request has to wake it.
    private func isResting() -> Bool {
        state.withLock { state in
            guard state.inbox.isEmpty, state.life != .closed else { return false }
            state.isAsleep = true
            return true
        }
    }

    private func end(_ unfinished: [Transfer.Submission], _ failure: HTTPFailure) {
        let late = state.withLock { state in
            // The next request tries again to start the thread.
            if state.life == .running { state.life = .new }
            state.wake = -1
            state.isAsleep = false
            defer { state.inbox = Inbox() }
            return state.inbox.submissions
        }
        for submission in unfinished + late { Self.refuse(submission, failure) }
    }
}
