import Synchronization

/// Exponential back-off for failed work: the pause doubles with each failure, from `Limits.firstJobPause` to
/// `Limits.longestJobPause` milliseconds.
struct BackOff {
    private struct Failure {
        var count: Int
        /// The time of the next attempt, in milliseconds since 1970.
        var due: Int64
    }

    /// The maximum number of failures remembered. If there are more, the failure that is due first is evicted, and its
    /// work is retried at once.
    let limit: Int
    private var failures: [Int64: Failure] = [:]

    init(limit: Int = .max) { self.limit = limit }

    func isWaiting(_ id: Int64, at now: Int64) -> Bool { failures[id].map { $0.due > now } ?? false }

    func waiting(at now: Int64) -> [Int64] { failures.filter { $0.value.due > now }.map(\.key) }

    /// The earliest time of a next attempt, in milliseconds since 1970; nil if no work has failed.
    var nextDue: Int64? { failures.values.map(\.due).min() }

    /// Forgets the failures whose retries are due, because there is no work that is due: another server did it, or it was
    /// removed. They would be due for ever.
    mutating func foundNothing(at now: Int64) { failures = failures.filter { $0.value.due > now } }

    mutating func succeeded(_ id: Int64) { failures[id] = nil }

    /// - Returns: the number of milliseconds until the next attempt.
    mutating func failed(_ id: Int64, now: Int64) -> Int64 {
        let count = failures[id]?.count ?? 0
        let pause = min(Limits.firstJobPause << min(count, 30), Limits.longestJobPause)
        if failures.count >= limit, failures[id] == nil, let next = failures.min(by: { $0.value.due < $1.value.due }) {
            failures[next.key] = nil
        }
        failures[id] = Failure(count: count + 1, due: now + pause)
        return pause
    }
}

/// Wakes a loop when the next retry is due.
final class RetryTimer: Sendable {
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Replaces the previous timer.
    /// - Parameter due: the time to wake the loop, in milliseconds since 1970.
    func wake(at due: Int64, _ environment: ServiceEnvironment, _ wake: @escaping @Sendable () -> Void) {
        task.withLock { task in
            task?.cancel()
            task = Task {
                do {
                    try await environment.sleepUntil(due)
                    wake()
                } catch {
                    // The timer was cancelled: another timer replaced it, or the store closes.
                }
            }
        }
    }

    func cancel() { task.withLock { $0?.cancel() } }
}
