import Glibc

/// A thread of an engine's own: it blocks on disks and locks, which a thread of the cooperative pool must not.
package enum EngineThread {
    /// Starts a thread that ends when `body` returns.
    /// - Throws: `StorageError` `.busy` if the system has no thread left.
    package static func start(_ body: @escaping @Sendable () -> Void) throws {
        let box = Unmanaged.passRetained(Body(run: body))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        var thread = pthread_t()
        let status = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, box.toOpaque())
        guard status == 0 else {
            box.release()
            throw StorageError(.busy, "a thread could not be started: \(String(cString: strerror(status)))")
        }
    }

    /// Has the calling thread do nothing for a while.
    package static func sleep(nanoseconds: Int64) {
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        var rest = timespec()
        while nanosleep(&time, &rest) != 0 && errno == EINTR { time = rest }
    }

    /// Has the thread that calls this get less of the processors than others that are at work (nice(2), which Linux applies to
    /// the thread alone).
    package static func lowerPriority() {
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }
}
