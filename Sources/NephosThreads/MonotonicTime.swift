import Glibc

/// Nanoseconds of a clock that only goes forward.
package struct MonotonicTime: Comparable {
    package var nanoseconds: Int64

    package static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    package static func + (time: MonotonicTime, nanoseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: time.nanoseconds + nanoseconds)
    }

    package static func - (later: MonotonicTime, earlier: MonotonicTime) -> Int64 {
        later.nanoseconds - earlier.nanoseconds
    }

    package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
