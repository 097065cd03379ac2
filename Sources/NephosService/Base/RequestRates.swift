import Synchronization

/// The rates at which a server answers requests. Nil for no limit.
package struct RequestRates: Hashable, Sendable {
    /// Requests a second of an account, in all its sessions.
    package var perAccount: Int? = 1000
    /// Requests a second without a session with one API token.
    package var perAPIToken: Int? = 10_000
    /// Requests a second from an address, or an IPv6 network of 64 bits.
    package var perAddress: Int? = 10_000

    package init() {}

    package static let off: RequestRates = {
        var rates = RequestRates()
        (rates.perAccount, rates.perAPIToken, rates.perAddress) = (nil, nil, nil)
        return rates
    }()

    /// The number of seconds whose requests may come at once. A first sync of 100,000 records is 500 requests.
    package static let burst: Int64 = 10
    package static let range = 1...1_000_000
}

/// Refuses the requests of a caller above a rate (generic cell rate algorithm). The counts are this server's, and in
/// memory: a restart resets them.
///
/// Two generations bound the memory: when the newer one is full, it replaces the older one, whose callers begin anew.
final class RateLimiter<Key: Hashable & Sendable>: Sendable {
    private struct State {
        /// The time in nanoseconds at which a caller's requests until now are paid for at the rate.
        var newer: [Key: Int64] = [:]
        var older: [Key: Int64] = [:]
    }

    /// The time in nanoseconds that pays for one request; nil for no limit.
    private let interval: Int64?
    private let burst = RequestRates.burst * 1_000_000_000
    private let limit: Int
    private let state = Mutex(State())

    init(perSecond rate: Int?, limit: Int = Limits.limitedCallers) {
        interval = rate.map { 1_000_000_000 / Int64($0) }
        self.limit = limit
    }

    /// The number of callers whose counts are in memory.
    var count: Int { state.withLock { $0.newer.count + $0.older.count } }

    /// Counts a request of a caller.
    /// - Parameter now: a time in nanoseconds of a monotonic clock.
    /// - Returns: the number of seconds until the request is allowed; nil if it is allowed now.
    func take(_ caller: Key, at now: Int64) -> Double? {
        guard let interval else { return nil }
        return state.withLock { state in
            let paid = max(state.newer[caller] ?? state.older[caller] ?? now, now)
            guard paid + interval - now <= burst else { return Double(paid + interval - now - burst) / 1_000_000_000 }
            if state.newer.count >= limit / 2, state.newer[caller] == nil { state = State(older: state.newer) }
            state.newer[caller] = paid + interval
            return nil
        }
    }
}
