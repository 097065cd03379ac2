import NephosStorage

/// A process's in-memory state of the fan-out: the failed change events with their back-off, the number of notifications
/// per account of the events that are under way, and the outbox rows that were written lately.
struct FanOutAttempts {
    private var failures = BackOff(limit: Limits.failedChangeEvents)
    private var current: [Int64: [Int64: Int]] = [:]
    /// The rows of query notifications, by the account that is notified and the one whose changes they are about: a flood
    /// silences no other account's.
    private var received = FanOutLoad<Recipient>(.linear)
    /// The number of pages so far.
    private var pages = 0
    private(set) var turns = FanOutTurns()
    /// The work that an account's changes of a database caused.
    private var caused = FanOutLoad<ChangeEventOrigin>(.exponential)

    private struct Recipient: Hashable {
        var account: Int64
        var origin: Int64
    }

    func waiting(at now: Int64) -> [Int64] { failures.waiting(at: now) }

    func counts(_ event: Int64) -> [Int64: Int] { current[event, default: [:]] }

    mutating func advanced(_ page: FanOutPage, at now: Int64) {
        let event = page.event.id
        failures.succeeded(event)
        pages &+= 1
        current[event] = page.end == nil ? nil : page.counts
        turns.end(page.covered + (page.end == nil ? [event] : []))
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
        pages % 8 != 7 && caused.rows(origin, at: now) >= Limits.outboxRowsOfBusyOrigin
    }

    /// Returns the oldest event of the origin that caused the least work lately.
    /// - Parameter read: reads the pending events.
    mutating func turn(
        except waiting: [Int64], at now: Int64, _ read: () throws -> [(id: Int64, origin: ChangeEventOrigin)]
    ) rethrows -> Int64? {
        let caused = caused
        if !turns.isStale, let id = turns.next(except: waiting, load: { caused.rows($0, at: now) }) { return id }
        turns = FanOutTurns(try read())
        return turns.next(except: waiting) { caused.rows($0, at: now) }
    }

    /// Notes the turns of a copy, which has read the pending events.
    mutating func take(_ turns: FanOutTurns) { self.turns = turns }

    /// Has the pending events read again, as another server has fanned one out.
    mutating func forgetTurns() { turns = FanOutTurns() }

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
