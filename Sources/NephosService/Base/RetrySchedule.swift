import NephosCrypto

/// The retries of undelivered notifications: exponential back-off with jitter, the same for every delivery.
///
/// - The wait after the n-th failure is `firstDelay` · 2ⁿ⁻¹, at most `longestDelay`.
/// - Jitter shortens that wait to between half and all of it, so that notifications that failed together are not
///   retried together.
/// - If a destination names a time, the retry waits at least until that time, but at most `longestDelay`.
/// - A notification whose retry would be due later than `lifetime` after the commit is given up.
package struct RetrySchedule: Hashable, Sendable {
    package var firstDelay: Duration
    package var longestDelay: Duration
    /// The duration after its commit for which a notification is retried.
    package var lifetime: Duration

    /// The standard schedule of two seconds, an hour and three days: about a hundred attempts at a destination that is
    /// down the whole time.
    package static let standard = RetrySchedule(
        firstDelay: .seconds(2), longestDelay: .seconds(3600), lifetime: .seconds(3 * 24 * 3600))

    package init(firstDelay: Duration, longestDelay: Duration, lifetime: Duration) {
        self.firstDelay = firstDelay
        self.longestDelay = longestDelay
        self.lifetime = lifetime
    }

    /// The time of the next attempt, in milliseconds since 1970; nil if the notification is given up.
    ///
    /// The jitter is derived from the notification's identifier, which is already random.
    /// - Parameters:
    ///   - notification: the notification with the number of the failed attempt.
    ///   - after: the wait that the destination named (`DeliveryOutcome.retry`); nil if it named none.
    ///   - now: the present time, in milliseconds since 1970.
    package func nextAttempt(of notification: OutgoingNotification, after: Duration?, now: Int64) -> Int64? {
        let jitter = Self.fraction(of: "\(notification.id) \(notification.attempt)")
        let due = now + delay(afterAttempt: notification.attempt, jitter: jitter, after: after).milliseconds
        return due <= notification.createdAt + lifetime.milliseconds ? due : nil
    }

    /// The wait after a failed attempt.
    /// - Parameters:
    ///   - attempt: the number of the failed attempt; 1 for the first.
    ///   - jitter: a number from 0, for half of the wait, to 1, for all of it.
    ///   - after: the wait that the destination named; nil if it named none.
    package func delay(afterAttempt attempt: Int, jitter: Double, after: Duration? = nil) -> Duration {
        var wait = firstDelay
        var attempt = attempt
        while attempt > 1 && wait < longestDelay {
            wait *= 2
            attempt -= 1
        }
        wait = min(wait, longestDelay)
        let kept = wait * (0.5 + 0.5 * min(max(jitter, 0), 1))
        return min(max(kept, after ?? .zero), longestDelay)
    }

    /// A number from 0 to below 1 that is derived from the text. Similar texts yield distant numbers.
    static func fraction(of text: String) -> Double {
        Double(FNV1a(text.utf8).mixed >> 11) / Double(1 << 53)
    }
}

extension Duration {
    /// The duration in whole milliseconds, rounded down.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
