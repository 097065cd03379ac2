import NephosStorage

/// A process's in-memory state of the fan-out: the failed change events with their back-off, the number of notifications
/// per account of the events that are under way, and the outbox rows that were written lately.
struct FanOutAttempts {
    private var failures = BackOff(limit: Limits.failedChangeEvents)
    private var current: [Int64: [Int64: Int]] = [:]
    /// The rows of query notifications, by the account that is notified.
    private var received = FanOutLoad()
    /// The rows that an account's changes caused.
    private var caused = FanOutLoad()

    func waiting(at now: Int64) -> [Int64] { failures.waiting(at: now) }

    func counts(_ event: Int64) -> [Int64: Int] { current[event, default: [:]] }

    mutating func advanced(_ page: FanOutPage, at now: Int64) {
        let event = page.event.id
        failures.succeeded(event)
        current[event] = page.end == nil ? nil : page.counts
        if current.count > Limits.failedChangeEvents { current.removeAll() }
        for item in page.items where item.isOfQuery {
            received.add(item.destinations, to: item.subscription.account, at: now)
        }
        caused.add(page.items.reduce(0) { $0 + $1.destinations }, to: page.event.originAccount, at: now)
    }

    /// Whether an account has had so many query notifications lately that further ones are dropped.
    func isFlooded(_ account: Int64, at now: Int64) -> Bool {
        received.rows(account, at: now) >= Double(Limits.outboxRowsPerAccount)
    }

    /// Whether other accounts' events go before this account's.
    func isBehind(_ account: Int64, at now: Int64) -> Bool {
        caused.rows(account, at: now) >= Double(Limits.outboxRowsPerPage / 2)
    }

    /// The next event: the oldest of the account whose changes caused the fewest rows lately.
    func turn(_ events: [(id: Int64, originAccount: Int64)], at now: Int64) -> Int64? {
        var rows: [Int64: Double] = [:]
        for event in events where rows[event.originAccount] == nil {
            rows[event.originAccount] = caused.rows(event.originAccount, at: now)
        }
        return events.min { (rows[$0.originAccount] ?? 0, $0.id) < (rows[$1.originAccount] ?? 0, $1.id) }?.id
    }

    /// - Returns: the number of milliseconds until the retry.
    mutating func failed(_ event: Int64, now: Int64) -> Int64 { failures.failed(event, now: now) }

    /// The time of the next retry of a failed event, in milliseconds since 1970; nil without failed events.
    var nextDue: Int64? { failures.nextDue }

    /// Notes that no event was found that is due.
    mutating func foundNothing(at now: Int64) { failures.foundNothing(at: now) }

    mutating func forget(_ events: [Int64]) {
        for event in events {
            failures.succeeded(event)
            current[event] = nil
        }
    }
}
