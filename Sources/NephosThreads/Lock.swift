import Glibc

/// A mutex whose holder can wait for a `Condition`. The standard library has none.
package final class Lock: @unchecked Sendable {
    // Sendable because the mutex is created once, never moves, and is safe to use from any thread.
    fileprivate let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    package init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @usableFromInline
    package func lock() {
        pthread_mutex_lock(mutex)
    }

    @usableFromInline
    package func unlock() {
        pthread_mutex_unlock(mutex)
    }

    @inlinable
    package func withLock<T>(_ body: () throws -> T) rethrows -> T {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// A condition variable: a thread that holds the lock waits for it, and releases the lock meanwhile.
package final class Condition: @unchecked Sendable {
    // Sendable because the condition is created once, never moves, and is safe to use from any thread.
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let lock: Lock

    package init(_ lock: Lock) {
        self.lock = lock
        condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
    }

    /// Wakes one waiting thread.
    package func signal() {
        pthread_cond_signal(condition)
    }

    /// Wakes all waiting threads.
    package func broadcast() {
        pthread_cond_broadcast(condition)
    }

    /// Releases the lock, waits, and takes the lock again. It may return without a signal (a spurious wake-up), so
    /// callers call it in a loop.
    package func wait() {
        pthread_cond_wait(condition, lock.mutex)
    }

    /// Like `wait()`, but waits no longer than until `deadline`. Returns false if the deadline has passed.
    package func wait(until deadline: MonotonicTime) -> Bool {
        var time = timespec(
            tv_sec: Int(deadline.nanoseconds / 1_000_000_000), tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
        return pthread_cond_timedwait(condition, lock.mutex, &time) == 0
    }
}
