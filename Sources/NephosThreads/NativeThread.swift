import Glibc

/// Threads that may block. Neither the cooperative pool's nor Dispatch's may: the first are Dispatch's, so enough blocked
/// queues would keep the tasks from running that they wait for.
package enum NativeThread {
    /// Starts a thread that ends when `body` returns.
    /// - Parameters:
    ///   - name: up to 15 bytes of it are shown by tools.
    ///   - blocksSignals: whether signals are for the program's other threads. A process that it starts would inherit that.
    /// - Throws: where the system has no thread left.
    package static func start(
        _ name: String, blocksSignals: Bool = false, _ body: @escaping @Sendable () -> Void
    ) throws(ThreadError) {
        let work = Unmanaged.passRetained(ThreadWork(name, body))
        // The thread inherits the mask.
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

    /// Runs `body` on a thread of its own.
    /// - Throws: where the system has no thread left.
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

    /// Has the calling thread do nothing for a while.
    package static func sleep(nanoseconds: Int64) {
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        var rest = timespec()
        while nanosleep(&time, &rest) != 0 && errno == EINTR { time = rest }
    }

    /// Has the calling thread get less of the processors than others that are at work (nice(2), which Linux applies to the
    /// thread alone).
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

    /// proc_tid_comm(5); where there is no /proc the thread has the program's name.
    private func showName() {
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        _ = name.withCString { write(file, $0, strlen($0)) }
    }
}

/// Why work was not begun.
package enum ThreadError: Error, Hashable, CustomStringConvertible {
    /// The system has no thread left; the system's code.
    case noThread(Int32)
    /// As much waits in a pool as may.
    case queueFull(pool: String)

    package var description: String {
        switch self {
        case .noThread(let code): "a thread could not be started: \(String(cString: strerror(code)))"
        case .queueFull(let pool): "too much waits for a thread (\(pool))"
        }
    }
}
