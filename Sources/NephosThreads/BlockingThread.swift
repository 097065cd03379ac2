import Glibc

/// Marks threads that may block, because nothing else waits for them: an HTTP server's, not the cooperative pool's.
/// A read that starts on one runs there, which saves waking two threads: more than a short read itself costs.
package enum BlockingThread {
    private static let mark: pthread_key_t = {
        var key = pthread_key_t()
        let failure = pthread_key_create(&key, nil)
        precondition(failure == 0, "no thread-local storage to be had")
        return key
    }()

    /// Whether the calling thread may block.
    package static var isCurrent: Bool { pthread_getspecific(mark) != nil }

    /// Runs `body`, during which the calling thread may block.
    package static func run<T>(_ body: () throws -> T) rethrows -> T {
        pthread_setspecific(mark, UnsafeRawPointer(bitPattern: 1))
        defer { pthread_setspecific(mark, nil) }
        return try body()
    }
}
