import Glibc

/// A mutex with a condition variable, for threads that wait for work. The standard library has none.
final class Condition: @unchecked Sendable {
    // Sendable because this is the lock: the two are made once, never move and are safe to use from any thread.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func lock() {
        pthread_mutex_lock(mutex)
    }

    func unlock() {
        pthread_mutex_unlock(mutex)
    }

    func withLock<T>(_ body: () throws -> T) rethrows -> T {
        lock()
        defer { unlock() }
        return try body()
    }

    /// Wakes one thread that waits.
    func signal() {
        pthread_cond_signal(condition)
    }

    /// Wakes all threads that wait.
    func broadcast() {
        pthread_cond_broadcast(condition)
    }

    /// Unlocks, waits and locks again. It may return for no reason, so it is called in a loop.
    func wait() {
        pthread_cond_wait(condition, mutex)
    }

    /// Like `wait()`, until `deadline` of the monotonic clock at the latest; false when that has come.
    func wait(until deadline: MonotonicTime) -> Bool {
        var time = timespec(
            tv_sec: Int(deadline.nanoseconds / 1_000_000_000), tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
        return pthread_cond_timedwait(condition, mutex, &time) == 0
    }
}

/// Nanoseconds of a clock that only goes forward.
struct MonotonicTime: Comparable {
    var nanoseconds: Int64

    static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func + (time: MonotonicTime, nanoseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: time.nanoseconds + nanoseconds)
    }

    static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
