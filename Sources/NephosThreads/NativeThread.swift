import Glibc

/// Creates threads that may block. The threads of the cooperative pool and of Dispatch may not: the cooperative pool
/// runs on Dispatch's threads, so enough blocked queues would keep the very tasks from running that the queues wait
/// for.
package enum NativeThread {
    /// Starts a thread that ends when `body` returns.
    /// - Parameters:
    ///   - name: the name that tools show; the system keeps at most 15 bytes of it.
    ///   - blocksSignals: whether only the other threads of the program receive signals. A process that this thread
    ///     starts inherits the blocked signals.
    /// - Throws: `ThreadError` if the system cannot create a thread.
    package static func start(
        _ name: String, blocksSignals: Bool = false, _ body: @escaping @Sendable () -> Void
    ) throws(ThreadError) {
        let work = Unmanaged.passRetained(ThreadWork(name, body))
        // The new thread inherits the signal mask.
        var signals = sigset_t()
        var before = sigset_t()
        if blocksSignals { sigfillset(&signals) }
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { work in
                if let work { Unmanaged<ThreadWork>.fromOpaque(work).takeRetainedValue().run() }
                return nil
            }, work.toOpaque())
        guard code == 0 else {
            work.release()
            throw .noThread(code)
        }
        pthread_detach(thread)
    }

    /// Runs `body` on a thread of its own, and returns when it ends.
    /// - Throws: `ThreadError` if the system cannot create a thread.
    package static func run(_ name: String, _ body: @escaping @Sendable () -> Void) async throws(ThreadError) {
        let failure = await withCheckedContinuation { (continuation: CheckedContinuation<ThreadError?, Never>) in
            do throws(ThreadError) {
                try start(name) {
                    body()
                    continuation.resume(returning: nil)
                }
            } catch {
                continuation.resume(returning: error)
            }
        }
        if let failure { throw failure }
    }

    /// Suspends the calling thread for a duration.
    package static func sleep(nanoseconds: Int64) {
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        var rest = timespec()
        while nanosleep(&time, &rest) != 0 && errno == EINTR { time = rest }
    }

    /// Lowers the priority of the calling thread, so that other threads get the processors first (nice(2), which Linux
    /// applies to the thread alone).
    static func lowerPriority() {
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
    }
}

private final class ThreadWork: Sendable {
    private let name: String
    private let body: @Sendable () -> Void

    init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }

    func run() {
        showName()
        body()
    }

    /// Sets the name that tools show for the thread (proc_tid_comm(5)). Without /proc the thread keeps the program's
    /// name.
    private func showName() {
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        _ = name.withCString { write(file, $0, strlen($0)) }
    }
}

/// The reason why a thread or pool did not begin some work.
package enum ThreadError: Error, Hashable, CustomStringConvertible {
    /// The system cannot create a thread. The value is the system's error code.
    case noThread(Int32)
    /// The queue of the pool is full.
    case queueFull(pool: String)

    package var description: String {
        switch self {
        case .noThread(let code): "a thread could not be started: \(String(cString: strerror(code)))"
        case .queueFull(let pool): "too much waits for a thread (\(pool))"
        }
    }
}
