/// What a process knows of the fan-out of change events: which failed and wait, each longer after every failure, and how many
/// notifications each account got of the event that is being fanned out.
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

    /// - Returns: the milliseconds until it is tried again.
    mutating func failed(_ event: Int64, now: Int64) -> Int64 { failures.failed(event, now: now) }

    /// When an event that failed is tried again, milliseconds since 1970; nil where none failed.
    var nextDue: Int64? { failures.nextDue }

    mutating func forget(_ events: [Int64]) { for event in events { failures.succeeded(event) } }
}
