import NephosStorage
import Synchronization

/// The background job that notifies the subscribers of a store. It handles one change event after another in commit
/// order; after an account's changes of a database caused much work, other events go before its next ones there. For each
/// event it matches subscriptions over a snapshot, then inserts a few outbox rows per transaction, so that no writer waits
/// long. The job's position is stored with the event, so a crash neither loses a notification nor repeats one. A failed
/// event is retried with back-off, and does not block other events.
final class NotificationFanOut: Sendable {
    private let id: StoreID
    private let engine: any StorageEngine
    private let environment: ServiceEnvironment
    private let accounts: Accounts
    private let schemas: SchemaCatalog
    private let outlets: NotificationOutlets
    private let observer: NotificationObserver
    private let deliver: @Sendable (Notices) -> Void
    private let loop = WorkLoop()
    /// The number of pages between two checks for too many waiting events.
    private static let pagesPerLook = 256
    private let attempts = Mutex(FanOutAttempts())
    /// The timer that wakes the job for the next retry of a failed event.
    private let retry = RetryTimer()
    private let look = Mutex<Task<Void, Never>?>(nil)

    init(
        id: StoreID, engine: any StorageEngine, environment: ServiceEnvironment, accounts: Accounts,
        schemas: SchemaCatalog, outlets: NotificationOutlets, observer: NotificationObserver,
        deliver: @escaping @Sendable (Notices) -> Void
    ) {
        self.id = id
        self.observer = observer
        self.engine = engine
        self.environment = environment
        self.accounts = accounts
        self.schemas = schemas
        self.outlets = outlets
        self.deliver = deliver
    }

    /// Wakes the job, because a commit may have inserted change events.
    func wake() { loop.wake { await self.tellAll() } }

    /// Returns once all change events are fanned out, except failed ones.
    func settle() async {
        wake()
        await loop.waitUntilIdle()
    }

    /// Stops the job after the current transaction.
    func close() async {
        await loop.close()
        retry.cancel()
        look.withLock { $0?.cancel() }
    }

    /// - Returns: false after a failure, so that the job waits for the next wake.
    private func tellAll() async -> Bool {
        defer { retryLater() }
        do {
            var pages = 0
            while !loop.isClosed {
                if pages % Self.pagesPerLook == 0 { try await makeRoom() }
                pages += 1
                guard let next = try await nextEvent() else { break }
                try await fanOut(next)
            }
            if engine.isShared, try await engine.read({ try $0.lastChangeEvent() }) != nil { lookAgain() }
            return true
        } catch is TakenOver {
            lookAgain()
            return true
        } catch {
            environment.log("telling subscribers stopped: \(error)")
            return false
        }
    }

    /// Fans out a page of an event.
    /// - Throws: only if the store is closed or another server took over; an event that fails for another reason backs
    ///   off.
    private func fanOut(_ next: FanOutReader.Next) async throws {
        do {
            let page = try await page(next)
            guard try await tell(page) else {
                // Another server is fanning out the event.
                throw TakenOver()
            }
            attempts.withLock { $0.advanced(page, at: environment.now()) }
        } catch let error as StorageError where error.isOfClosedStore {
            throw error
        } catch let error as TakenOver {
            throw error
        } catch {
            let now = environment.now()
            let pause = attempts.withLock { $0.failed(next.event.id, now: now) }
            environment.log("change event \(next.event.id) failed, next attempt in \(pause) ms: \(error)")
        }
    }

    /// The error for an event that another server is fanning out.
    private struct TakenOver: Error {}

    /// Wakes the job after a pause, for events that are not in the feeds yet, or that another server claimed, because
    /// that server may die. The pause is in real time, because other processes run in real time.
    private func lookAgain() {
        look.withLock { look in
            guard look == nil, !loop.isClosed else { return }
            look = Task { [weak self] in
                try? await Task.sleep(for: .milliseconds(100))
                if Task.isCancelled { return }
                self?.look.withLock { $0 = nil }
                self?.wake()
            }
        }
    }

    /// Evicts the oldest events if too many wait. The notification of the next change makes them unnecessary.
    private func makeRoom() async throws {
        while !loop.isClosed {
            let excess = try await engine.read { try Self.excess(beyond: Limits.waitingChangeEvents, $0) }
            if excess.isEmpty { return }
            try await engine.write { transaction in
                for id in excess { try transaction.removeChangeEvent(id: id) }
            }
            attempts.withLock { $0.forget(excess) }
            environment.log(
                "\(excess.count) changes are not told to subscribers: more than \(Limits.waitingChangeEvents) wait")
        }
    }

    /// Returns the oldest events that exceed the limit. IDs have gaps: events are fanned out in turns, and over PostgreSQL
    /// the stores share a sequence.
    static func excess(beyond limit: Int, _ reader: StorageReader) throws -> [Int64] {
        guard let first = try reader.changeEvents(after: 0, limit: 1).first?.id,
            let newest = try reader.lastChangeEvent(), newest - first >= limit,
            let last = try reader.lastChangeEvent(before: limit)
        else { return [] }
        return try reader.changeEvents(after: 0, limit: Limits.changeEventsPerRemoval).map(\.id).filter { $0 <= last }
    }

    /// Wakes the job when the next retry of a failed event is due.
    private func retryLater() {
        guard !loop.isClosed, let due = attempts.withLock({ $0.nextDue }) else { return }
        retry.wake(at: due, environment) { [weak self] in self?.wake() }
    }

    private func nextEvent() async throws -> FanOutReader.Next? {
        let (known, now) = (attempts.withLock { $0 }, environment.now())
        let (next, turns) = try await engine.read { reader in
            var known = known
            return (try FanOutReader.next(&known, now, reader), known.turns)
        }
        attempts.withLock { attempts in
            attempts.take(turns)
            if next == nil { attempts.foundNothing(at: now) }
        }
        return next
    }

    private func page(_ next: FanOutReader.Next) async throws -> FanOutPage {
        let moment = schemas.now
        let known = attempts.withLock { $0 }
        let page = try await engine.read { [id, environment, accounts, outlets, schemas] reader in
            let schema = try schemas.schema(asOf: moment, reader)
            var page = FanOutReader(
                next, container: id.container, environment, accounts, outlets, schema, known, reader)
            return try page.read()
        }
        for fault in page.faults { environment.log("telling subscribers: \(fault)") }
        return page
    }

    /// Inserts the notifications of a page.
    /// - Returns: false if another server fanned out the event meanwhile, or is doing so.
    private func tell(_ page: FanOutPage) async throws -> Bool {
        var rest = page.items[...]
        var isFirst = true
        var known = page.event.position
        while isFirst || !rest.isEmpty {
            if loop.isClosed { return true }
            let piece = Self.piece(&rest)
            let isEnd = rest.isEmpty
            let covered = isFirst ? page.covered : []
            isFirst = false
            let told: (notices: Notices, sent: [FanOutPage.Item], position: SubscriptionPosition?)? =
                try await engine.write {
                    [outlets, environment, known] transaction in
                    guard try transaction.claimChangeEvent(id: page.event.id, at: known) else { return nil }
                    var outbox = OutboxWriter(outlets, by: page.origin, at: environment.now(), transaction)
                    let sent = try piece.filter { try Self.leave($0, &outbox) }
                    for id in covered { try transaction.removeChangeEvent(id: id) }
                    var event = page.event
                    if isEnd {
                        event.position = page.end
                    } else if let last = piece.last, !last.isFormer {
                        event.position = last.position
                    }
                    if isEnd, page.end == nil {
                        try transaction.removeChangeEvent(id: event.id)
                    } else {
                        try transaction.update(event)
                    }
                    return (try outbox.finish(), sent, event.position)
                }
            guard let told else { return false }
            known = told.position
            deliver(told.notices)
            observer.tell {
                told.sent.filter { $0.destinations > 0 }
                    .map { SentNotification($0, of: id, zoneName: page.event.zoneName) }
            }
        }
        return true
    }

    /// Removes and returns the next notifications, with at most `Limits.outboxRowsPerFanOut` outbox rows.
    private static func piece(_ rest: inout ArraySlice<FanOutPage.Item>) -> ArraySlice<FanOutPage.Item> {
        var room = Limits.outboxRowsPerFanOut
        let piece = rest.prefix { item in
            defer { room -= max(1, item.destinations) }
            return room > 0
        }
        rest = rest.dropFirst(piece.count)
        return piece
    }

    /// - Returns: false for a subscription that was deleted since the change: it is not notified.
    private static func leave(_ item: FanOutPage.Item, _ outbox: inout OutboxWriter) throws -> Bool {
        let row = item.subscription
        if !item.isFormer {
            let current = try outbox.transaction.subscription(owner: row.owner, account: row.account, id: row.id)
            if current == nil { return false }
        }
        try outbox.add(item.payload, collapseID: item.collapseID, account: row.account, subject: item.subject)
        if item.isLast {
            _ = try outbox.transaction.removeSubscription(owner: row.owner, account: row.account, id: row.id)
        }
        return true
    }
}
