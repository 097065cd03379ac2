import Glibc

/// Nanoseconds of the monotonic clock.
struct Monotonic: Comparable {
    var nanoseconds: Int64

    static var now: Monotonic {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Monotonic(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func < (one: Monotonic, other: Monotonic) -> Bool { one.nanoseconds < other.nanoseconds }

    /// Saturates on overflow.
    static func + (time: Monotonic, duration: Duration) -> Monotonic {
        let (seconds, attoseconds) = duration.components
        let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isTooLate) = time.nanoseconds.addingReportingOverflow(overflows ? Int64.max : product)
        guard !isTooLate else { return Monotonic(nanoseconds: seconds < 0 ? 0 : .max) }
        return Monotonic(nanoseconds: sum + min(attoseconds / 1_000_000_000, Int64.max - max(sum, 0)))
    }

    /// Milliseconds until then, rounded up: 0 in the past, at most a minute.
    var milliseconds: Int32 {
        let rest = max(nanoseconds - Monotonic.now.nanoseconds, 0)
        return Int32(clamping: min(rest / 1_000_000 + (rest % 1_000_000 == 0 ? 0 : 1), 60_000))
    }
}
