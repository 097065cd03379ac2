import CCurl
import Glibc
import NephosThreads
import Synchronization

/// libcurl's thread and its inbox. It starts with the first request and ends on close.
final class TransferThread: Sendable {
    /// The maximum idle time of a connection for reuse. Servers close connections idle for a minute or longer; a
    /// request that meets such a close cannot be distinguished from one that was executed.
    static let idleConnectionSeconds = 30

    struct Options: Sendable {
        var certificates: String?
        var requestsAtOnce: Int
        var connectionsPerHost: Int
    }

    /// Requests of other threads to this one.
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
        /// The thread waits, or is about to, and has not been woken yet.
        var isAsleep = false
        /// The wake-up descriptor; -1 for none.
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

    /// Resumes a transfer whose caller's stream is ready.
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

    /// Called under the lock, so that the descriptor is not closed meanwhile.
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

    /// - Returns: the failure if no thread can be created.
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
            // Requests submitted meanwhile start before the thread sleeps.
            guard isResting() else { continue }
            sockets.wait(until: deadline)
            transfers.finishDone()
        }
        end(transfers.removeAll(), .closed)
    }

    /// Nil once the thread has to end.
    private func takeInbox() -> Inbox? {
        state.withLock { state in
            state.isAsleep = false
            guard state.life != .closed else { return nil }
            defer { state.inbox = Inbox() }
            return state.inbox
        }
    }

    /// Whether the thread is idle; from then on it has to be woken.
    private func isResting() -> Bool {
        state.withLock { state in
            guard state.inbox.isEmpty, state.life != .closed else { return false }
            state.isAsleep = true
            return true
        }
    }

    private func end(_ unfinished: [Transfer.Submission], _ failure: HTTPFailure) {
        let late = state.withLock { state in
            // The next request retries a thread that could not start.
            if state.life == .running { state.life = .new }
            state.wake = -1
            state.isAsleep = false
            defer { state.inbox = Inbox() }
            return state.inbox.submissions
        }
        for submission in unfinished + late { Self.refuse(submission, failure) }
    }
}
