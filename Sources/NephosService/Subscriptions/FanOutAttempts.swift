import NephosStorage

/// A process's in-memory state of the fan-out: the failed change events with their back-off, the number of notifications
/// per account of the events that are under way, and the outbox rows that were written lately.
struct FanOutAttempts {
    private var failures = BackOff(limit: Limits.failedChangeEvents)
    private var current: [Int64: [Int64: Int]] = [:]
    /// The rows of query notifications, by the account that is notified and the one whose changes they are about: a flood
    /// silences no other account's.
    private var received = FanOutLoad<Recipient>()
    /// The number of events so far.
    private var turns = 0
    /// The work that an account's changes of a database caused.
    private var caused = FanOutLoad<ChangeEventOrigin>()

    private struct Recipient: Hashable {
        var account: Int64
        var origin: Int64
    }

    func waiting(at now: Int64) -> [Int64] { failures.waiting(at: now) }

    func counts(_ event: Int64) -> [Int64: Int] { current[event, default: [:]] }

    mutating func advanced(_ page: FanOutPage, at now: Int64) {
        let event = page.event.id
        failures.succeeded(event)
        turns &+= 1
        current[event] = page.end == nil ? nil : page.counts
        if current.count > Limits.failedChangeEvents { current.removeAll() }
        for item in page.items where item.isOfQuery {
            let recipient = Recipient(account: item.subscription.account, origin: page.event.originAccount)
            received.add(Double(item.destinations), to: recipient, at: now)
        }
        caused.add(page.work, to: page.event.origin, at: now)
    }

    /// Whether an account has had so many query notifications of another's changes lately, or of its own, that further ones
    /// are dropped.
    func isFlooded(_ account: Int64, by origin: Int64, at now: Int64) -> Bool {
        received.rows(Recipient(account: account, origin: origin), at: now) >= Double(Limits.outboxRowsPerAccount)
    }

    /// Whether events of other origins go before those of this one: not at every eighth page, so that no event starves.
    func isBehind(_ origin: ChangeEventOrigin, at now: Int64) -> Bool {
        turns % 8 != 7 && caused.rows(origin, at: now) >= Double(Limits.outboxRowsPerPage / 2)
    }

    /// The next event: the oldest of the origin that caused the least work lately.
    func turn(_ events: [(id: Int64, origin: ChangeEventOrigin)], at now: Int64) -> Int64? {
        var rows: [ChangeEventOrigin: Double] = [:]
        for event in events where rows[event.origin] == nil { rows[event.origin] = caused.rows(event.origin, at: now) }
        return events.min { (rows[$0.origin] ?? 0, $0.id) < (rows[$1.origin] ?? 0, $1.id) }?.id
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
