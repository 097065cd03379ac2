import Glibc

/// Marks the threads that may block because no other work waits for them, such as those of an HTTP server. The threads
/// of the cooperative pool may not. A read that starts on such a thread runs there. That saves waking two threads,
/// which costs more than a short read itself.
package enum BlockingThread {
    private static let mark: pthread_key_t = {
        var key = pthread_key_t()
        let failure = pthread_key_create(&key, nil)
        precondition(failure == 0, "no thread-local storage to be had")
        return key
    }()

    /// Whether the calling thread may block.
    package static var isCurrent: Bool { pthread_getspecific(mark) != nil }

    /// Runs `body`. The calling thread may block during the call.
    package static func run<T>(_ body: () throws -> T) rethrows -> T {
        pthread_setspecific(mark, UnsafeRawPointer(bitPattern: 1))
        defer { pthread_setspecific(mark, nil) }
        return try body()
    }
}
