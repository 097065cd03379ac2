import NephosCrypto

/// When a notification that could not be delivered is tried again, and when it is given up: exponential back-off with
/// jitter, the same for every way out.
///
/// - The n-th failure is followed by a wait of `firstDelay` · 2ⁿ⁻¹, at most `longestDelay`.
/// - Of that wait, between half and all is kept: notifications that failed together do not come back together.
/// - A destination that names a time is not asked sooner, within `longestDelay`.
/// - What would be tried again later than `lifetime` after its commit is given up.
package struct RetrySchedule: Hashable, Sendable {
    package var firstDelay: Duration
    package var longestDelay: Duration
    /// How long a notification is worth delivering, from its commit on.
    package var lifetime: Duration

    /// Two seconds, an hour, three days: about a hundred attempts at a destination that is down all the time.
    package static let standard = RetrySchedule(
        firstDelay: .seconds(2), longestDelay: .seconds(3600), lifetime: .seconds(3 * 24 * 3600))

    package init(firstDelay: Duration, longestDelay: Duration, lifetime: Duration) {
        self.firstDelay = firstDelay
        self.longestDelay = longestDelay
        self.lifetime = lifetime
    }

    /// When the next attempt is due, in milliseconds since 1970; nil when the notification is given up.
    ///
    /// The jitter comes from the notification's identifier, which the service drew at random, so nothing else need be
    /// drawn.
    /// - Parameters:
    ///   - notification: with the number of the attempt that failed.
    ///   - after: the time that the destination named (`DeliveryOutcome.retry`).
    ///   - now: in milliseconds since 1970.
    package func nextAttempt(of notification: OutgoingNotification, after: Duration?, now: Int64) -> Int64? {
        let jitter = Self.fraction(of: "\(notification.id) \(notification.attempt)")
        let due = now + delay(afterAttempt: notification.attempt, jitter: jitter, after: after).milliseconds
        return due <= notification.createdAt + lifetime.milliseconds ? due : nil
    }

    /// How long to wait after the failure of an attempt.
    /// - Parameters:
    ///   - attempt: 1 for the first.
    ///   - jitter: from 0, half of the wait, to 1, all of it.
    ///   - after: the time that the destination named.
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

    /// A number from 0 to below 1 that the text decides; similar texts give distant numbers.
    static func fraction(of text: String) -> Double {
        Double(FNV1a(text.utf8).mixed >> 11) / Double(1 << 53)
    }
}

extension Duration {
    /// In whole milliseconds, rounded down.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
