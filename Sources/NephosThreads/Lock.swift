import Glibc

/// A mutex whose threads can wait for a `Condition`. The standard library has none.
package final class Lock: @unchecked Sendable {
    // Sendable because this is the lock: it is made once, never moves and is safe to use from any thread.
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

/// Something a thread waits for while it gives up a lock.
package final class Condition: @unchecked Sendable {
    // Sendable because it is made once, never moves and is safe to use from any thread.
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

    /// Wakes one thread that waits.
    package func signal() {
        pthread_cond_signal(condition)
    }

    /// Wakes all threads that wait.
    package func broadcast() {
        pthread_cond_broadcast(condition)
    }

    /// Unlocks, waits and locks again. It may return for no reason, so it is called in a loop.
    package func wait() {
        pthread_cond_wait(condition, lock.mutex)
    }

    /// Like `wait()`, until `deadline` at the latest; false when that has come.
    package func wait(until deadline: MonotonicTime) -> Bool {
        var time = timespec(
            tv_sec: Int(deadline.nanoseconds / 1_000_000_000), tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
        return pthread_cond_timedwait(condition, lock.mutex, &time) == 0
    }
}
