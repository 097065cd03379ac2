import CMicroHTTPD
import Dispatch
import NephosService
import NephosThreads
import Synchronization

/// The run of one request's handler on the thread of its connection.
///
/// The task of the handler prefers this executor. So an event that wakes the task, mostly a commit, resumes the
/// connection, and the connection's thread runs the rest of the handler and sends the answer. Swift's cooperative pool
/// would use another thread, whose wake-up costs more than the rest of most requests.
///
/// `@unchecked`: `connection` is used here only to suspend it, on its own thread, and to resume it, which any thread
/// may do (MHD_resume_connection). A lock guards the other state.
final class RequestRun: TaskExecutor, @unchecked Sendable {
    private struct State {
        var jobs: [UnownedJob] = []
        var response: HTTPResponse?
        var isSuspended = false
        /// Whether the handler waits for more of its body, and the connection for its client. The jobs of the handler
        /// must not run meanwhile.
        var isReading = false
        /// Whether the connection's thread runs no more jobs.
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
    /// Whether the handler has waited. Only the connection's thread accesses it.
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

    /// Stores the answer, and resumes the connection if it waits for the answer. The connection may be closed when this
    /// returns.
    func give(_ response: HTTPResponse) {
        let (isSuspended, isLeft) = state.withLock { state in
            if !state.isLeft { state.response = response }
            defer { state.isSuspended = false }
            return (state.isSuspended, state.isLeft)
        }
        if isLeft { response.whenSent?(false) } else if isSuspended { MHD_resume_connection(connection) }
    }

    // MARK: The connection's thread

    /// Starts `handler`, and runs it until it first suspends.
    func start(_ handler: @escaping @Sendable () async -> Void) {
        // The thread belongs to the HTTP server and may block, so short reads run on it.
        BlockingThread.run {
            _ = Task.immediate(executorPreference: self) { await handler() }
        }
    }

    /// The state of the handler when the connection's thread has no more jobs to run.
    enum Progress {
        case answered(HTTPResponse)
        /// The connection is suspended. The library calls again when the connection resumes.
        case suspended
        /// The handler waits for more of its body.
        case reading
    }

    /// Runs the ready jobs of the handler until it has answered or waits. A waiting handler suspends the connection,
    /// unless it waits for more of `stream`.
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

    /// Lets the handler continue on this thread, because more of the body has arrived.
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
            // Suspends under the lock, so that the connection cannot be resumed before it is suspended.
            MHD_suspend_connection(connection)
            state.isSuspended = true
            return .wait
        }
    }

    /// Detaches the handler from a lost connection. Its remaining jobs run on other threads; after an answer, these can
    /// be jobs of an actor that the handler called. An answer that was not sent is notified of that.
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
