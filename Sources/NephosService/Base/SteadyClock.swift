/// Tells whether a clock has run without a step for `Limits.steadyClock`. A clock may be wrong until NTP sets it, so
/// nothing expires for good by a clock that has just started or stepped.
struct SteadyClock {
    private var steadySince: Int64
    private var latest: Int64

    init(at now: Int64) { (steadySince, latest) = (now, now) }

    /// - Parameter elapsed: the number of milliseconds since the call before, by a clock that does not step.
    mutating func isSteady(at now: Int64, elapsed: Int64) -> Bool {
        if abs(now - latest - elapsed) > Limits.clockStep { steadySince = now }
        latest = now
        return now - steadySince >= Limits.steadyClock
    }
}
