/// A process's in-memory state of the fan-out: the failed change events with their back-off, and the number of
/// notifications of the current event per account.
struct FanOutAttempts {
    private var failures = BackOff(limit: Limits.failedChangeEvents)
    private var current: (event: Int64, counts: [Int64: Int])?

    func waiting(at now: Int64) -> [Int64] { failures.waiting(at: now) }

    func counts(_ event: Int64) -> [Int64: Int] {
        if let current, current.event == event { current.counts } else { [:] }
    }

    mutating func advanced(_ event: Int64, _ counts: [Int64: Int], isDone: Bool) {
        failures.succeeded(event)
        current = isDone ? nil : (event, counts)
    }

    /// - Returns: the number of milliseconds until the retry.
    mutating func failed(_ event: Int64, now: Int64) -> Int64 { failures.failed(event, now: now) }

    /// The time of the next retry of a failed event, in milliseconds since 1970; nil without failed events.
    var nextDue: Int64? { failures.nextDue }

    /// Notes that no event was found that is due.
    mutating func foundNothing(at now: Int64) { failures.foundNothing(at: now) }

    mutating func forget(_ events: [Int64]) { for event in events { failures.succeeded(event) } }
}
