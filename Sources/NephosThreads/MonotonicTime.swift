import Glibc

/// A time in nanoseconds of a monotonic clock.
package struct MonotonicTime: Comparable {
    package var nanoseconds: Int64

    package var milliseconds: Int64 { nanoseconds / 1_000_000 }

    package static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    package static func + (time: MonotonicTime, nanoseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: time.nanoseconds + nanoseconds)
    }

    /// Saturates on overflow.
    package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let (seconds, attoseconds) = duration.components
        let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isTooLate) = time.nanoseconds.addingReportingOverflow(overflows ? Int64.max : product)
        guard !isTooLate else { return MonotonicTime(nanoseconds: seconds < 0 ? 0 : .max) }
        return MonotonicTime(nanoseconds: sum + min(attoseconds / 1_000_000_000, Int64.max - max(sum, 0)))
    }

    package static func - (later: MonotonicTime, earlier: MonotonicTime) -> Int64 {
        later.nanoseconds - earlier.nanoseconds
    }

    package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
