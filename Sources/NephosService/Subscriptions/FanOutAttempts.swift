/// What a process knows of the fan-out of change events: which failed and wait, each longer after every failure, and how many
/// notifications each account got of the event that is being fanned out.
struct FanOutAttempts {
    private struct Failure {
        var count: Int
        /// When it is tried again, milliseconds since 1970.
        var due: Int64
    }

    private var failures: [Int64: Failure] = [:]
    private var current: (event: Int64, counts: [Int64: Int])?

    func isWaiting(_ event: Int64, at now: Int64) -> Bool { failures[event].map { $0.due > now } ?? false }

    func waiting(at now: Int64) -> [Int64] { failures.filter { $0.value.due > now }.map(\.key) }

    func counts(_ event: Int64) -> [Int64: Int] {
        if let current, current.event == event { current.counts } else { [:] }
    }

    mutating func advanced(_ event: Int64, _ counts: [Int64: Int], isDone: Bool) {
        failures[event] = nil
        current = isDone ? nil : (event, counts)
    }

    /// - Returns: the milliseconds until it is tried again.
    mutating func failed(_ event: Int64, now: Int64) -> Int64 {
        let count = failures[event]?.count ?? 0
        let pause = min(Limits.firstJobPause << min(count, 30), Limits.longestJobPause)
        if failures.count >= Limits.failedChangeEvents, failures[event] == nil,
            let next = failures.min(by: { $0.value.due < $1.value.due })
        {
            failures[next.key] = nil
        }
        failures[event] = Failure(count: count + 1, due: now + pause)
        return pause
    }

    /// When an event that failed is tried again, milliseconds since 1970; nil where none failed.
    var nextDue: Int64? { failures.values.map(\.due).min() }

    mutating func forget(_ events: [Int64]) { for event in events { failures[event] = nil } }
}
