import CMicroHTTPD
import Dispatch
import NephosService
import NephosThreads
import Synchronization

/// The run of one request's handler, on the thread of its connection.
///
/// The handler's task prefers this executor, so whatever wakes the task (a commit, mostly) resumes the connection, and the
/// connection's thread runs the rest and sends the answer. On the pool of Swift's concurrency it would take another
/// thread, whose waking costs more than the rest of most requests.
///
/// `@unchecked`: `connection` is used from here only to suspend it, on its own thread, and to resume it, which any
/// thread may do (MHD_resume_connection); the rest has its lock.
final class RequestRun: TaskExecutor, @unchecked Sendable {
    private struct State {
        var jobs: [UnownedJob] = []
        var response: HTTPResponse?
        var isSuspended = false
        /// The handler waits for more of its body, and the connection for the client: its jobs must not run.
        var isReading = false
        /// The connection's thread will not look here again.
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
    /// Only the connection's thread touches it.
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

    /// Leaves the answer, and resumes the connection if it waits for it; then it may be gone when this returns.
    func give(_ response: HTTPResponse) {
        let (isSuspended, isLeft) = state.withLock { state in
            if !state.isLeft { state.response = response }
            defer { state.isSuspended = false }
            return (state.isSuspended, state.isLeft)
        }
        if isLeft { response.whenSent?(false) } else if isSuspended { MHD_resume_connection(connection) }
    }

    // MARK: The connection's thread

    /// Runs `handler` until it waits for something for the first time.
    func start(_ handler: @escaping @Sendable () async -> Void) {
        // The thread is the HTTP server's own, so short reads are done on it.
        BlockingThread.run {
            _ = Task.immediate(executorPreference: self) { await handler() }
        }
    }

    /// Where the handler is when the connection's thread has nothing more to do for it.
    enum Progress {
        case answered(HTTPResponse)
        /// The connection was suspended, and calls again when it resumes.
        case suspended
        /// The handler waits for more of its body.
        case reading
    }

    /// Runs what the handler can go on with, and takes the answer if it is there then; otherwise suspends the connection.
    func proceed() -> HTTPResponse? {
        if case .answered(let response) = proceed(reading: nil) { response } else { nil }
    }

    /// The same, but the connection is not suspended while the handler waits for more of `stream`.
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

    /// More of the body is here: the handler goes on on this thread.
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
            // Under the lock, so that nothing resumes a connection that is not suspended yet.
            MHD_suspend_connection(connection)
            state.isSuspended = true
            return .wait
        }
    }

    /// The connection is gone. What the handler still has to do goes elsewhere; after an answer that can be the work of an
    /// actor it called. An answer that was not taken is told that it was not sent.
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
