import CMicroHTTPD
import Dispatch
import NephosService
import NephosThreads
import Synchronization

/// The run of one request's handler, on the thread of its connection.
///
/// The handler's task prefers this executor, so an event that wakes the task (mostly a commit) resumes the connection,
/// and the connection's thread runs the rest and sends the answer. Swift's cooperative pool would take another thread,
/// whose wake-up costs more than the rest of most requests.
///
/// `@unchecked`: `connection` is used here only to suspend it, on its own thread, and to resume it, which any
/// thread may do (MHD_resume_connection); a lock guards the other state.
final class RequestRun: TaskExecutor, @unchecked Sendable {
    private struct State {
        var jobs: [UnownedJob] = []
        var response: HTTPResponse?
        var isSuspended = false
        /// The handler waits for more of its body and the connection for its client: the handler's jobs must not run.
        var isReading = false
        /// The connection's thread runs no more jobs.
        var isLeft = false
    }

    private enum Step {
        case run([UnownedJob])
        case answer(HTTPResponse)
        case wait
        case read
    }

    private let connection: OpaquePointer
    private let bridge: HTTPBridge
    private let state = Mutex(State())
    /// Accessed by the connection's thread only.
    private var hasWaited = false

    init(_ connection: OpaquePointer, _ bridge: HTTPBridge) {
        self.connection = connection
        self.bridge = bridge
    }

    // MARK: Any thread

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (isSuspended, isElsewhere) = state.withLock { state in
            let isElsewhere = state.isLeft || state.isReading
            if !isElsewhere { state.jobs.append(job) }
            defer { state.isSuspended = false }
            return (state.isSuspended, isElsewhere)
        }
        if isElsewhere { runElsewhere([job]) } else if isSuspended { MHD_resume_connection(connection) }
    }

    /// Stores the answer and resumes a connection that waits for it; the connection may be closed when this returns.
    func give(_ response: HTTPResponse) {
        let (isSuspended, isLeft) = state.withLock { state in
            if !state.isLeft { state.response = response }
            defer { state.isSuspended = false }
            return (state.isSuspended, state.isLeft)
        }
        if isLeft { response.whenSent?(false) } else if isSuspended { MHD_resume_connection(connection) }
    }

    // MARK: The connection's thread

    /// Runs `handler` until its first suspension.
    func start(_ handler: @escaping @Sendable () async -> Void) {
        // The thread belongs to the HTTP server and may block, so short reads run on it.
        BlockingThread.run {
            _ = Task.immediate(executorPreference: self) { await handler() }
        }
    }

    /// The handler's state when the connection's thread has no more work for it.
    enum Progress {
        case answered(HTTPResponse)
        /// The connection is suspended, and its callback runs again when it resumes.
        case suspended
        /// The handler waits for more of its body.
        case reading
    }

    /// Runs the handler's ready jobs until it has answered or waits: then suspends the connection, unless the handler
    /// waits for more of `stream`.
    func proceed(reading stream: BodyStream?) -> Progress {
        while true {
            switch nextStep(stream) {
            case .run(let jobs): BlockingThread.run { run(jobs) }
            case .answer(let response): return .answered(response)
            case .wait: return .suspended
            case .read: return .reading
            }
        }
    }

    /// More of the body has arrived: the handler continues on this thread.
    func endReading() { state.withLock { $0.isReading = false } }

    private func nextStep(_ stream: BodyStream?) -> Step {
        state.withLock { state in
            if !state.jobs.isEmpty {
                defer { state.jobs = [] }
                return .run(state.jobs)
            }
            if let response = state.response {
                state.response = nil
                state.isLeft = true
                return .answer(response)
            }
            if let stream, stream.isWanted {
                state.isReading = true
                return .read
            }
            if !hasWaited { bridge.noteSuspended(self) }
            hasWaited = true
            // Under the lock, so that nothing resumes the connection before it is suspended.
            MHD_suspend_connection(connection)
            state.isSuspended = true
            return .wait
        }
    }

    /// Detaches from a lost connection. The handler's remaining jobs run elsewhere; after an answer they can be those
    /// of an actor it called. An answer that was not taken is notified that it was not sent.
    func leave() {
        if hasWaited { bridge.forgetSuspended(self) }
        let (jobs, response) = state.withLock { state in
            state.isLeft = true
            defer { (state.jobs, state.response) = ([], nil) }
            return (state.jobs, state.response)
        }
        response?.whenSent?(false)
        if !jobs.isEmpty { runElsewhere(jobs) }
    }

    private func runElsewhere(_ jobs: [UnownedJob]) {
        DispatchQueue.global().async { self.run(jobs) }
    }

    private func run(_ jobs: [UnownedJob]) {
        for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
