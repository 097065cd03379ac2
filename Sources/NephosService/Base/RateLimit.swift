import Synchronization

/// Limits the rate of an operation per caller and minute. The counts are in memory and best effort: a restart resets
/// them.
final class RateLimit<Key: Hashable & Sendable>: Sendable {
    private struct State {
        var minute: Int64 = 0
        var counts: [Key: Int] = [:]
    }

    private let perMinute: Int
    private let state = Mutex(State())

    init(perMinute: Int) { self.perMinute = perMinute }

    /// - Parameter now: the present time, in milliseconds since 1970.
    /// - Returns: false if the count exceeds what is left of the caller's minute.
    func take(_ count: Int, for key: Key, at now: Int64) -> Bool {
        state.withLock { state in
            let minute = now / 60_000
            if state.minute != minute { state = State(minute: minute) }
            let taken = state.counts[key, default: 0] + count
            guard taken <= perMinute else { return false }
            state.counts[key] = taken
            return true
        }
    }
}
