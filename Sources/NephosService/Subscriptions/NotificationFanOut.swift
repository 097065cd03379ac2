import NephosStorage

/// The background job that notifies the subscribers of a store, one change event after another in commit order: it matches
/// subscriptions over a snapshot, then inserts outbox rows, a few in each transaction, so that no writer waits long. Its
/// position is stored with the event, so a crash neither loses a notification nor repeats one.
final class NotificationFanOut: Sendable {
    private let container: String
    private let engine: any StorageEngine
    private let environment: ServiceEnvironment
    private let accounts: Accounts
    private let schemas: SchemaCatalog
    private let outlets: NotificationOutlets
    private let deliver: @Sendable (Notices) -> Void
    private let loop = WorkLoop()

    init(
        container: String, engine: any StorageEngine, environment: ServiceEnvironment, accounts: Accounts,
        schemas: SchemaCatalog, outlets: NotificationOutlets, deliver: @escaping @Sendable (Notices) -> Void
    ) {
        self.container = container
        self.engine = engine
        self.environment = environment
        self.accounts = accounts
        self.schemas = schemas
        self.outlets = outlets
        self.deliver = deliver
    }

    /// Wakes the job: a commit may have left change events.
    func wake() { loop.wake { await self.tellAll() } }

    /// Returns once every change event is fanned out.
    func settle() async {
        wake()
        await loop.waitUntilIdle()
    }

    /// Stops after the transaction that is being done.
    func close() async { await loop.close() }

    /// - Returns: false where it failed: the next change tries again.
    private func tellAll() async -> Bool {
        do {
            while !loop.isClosed, let page = try await nextPage() { try await tell(page) }
            return true
        } catch {
            environment.log("telling subscribers stopped: \(error)")
            return false
        }
    }

    private func nextPage() async throws -> FanOutPage? {
        let moment = schemas.now
        let page = try await engine.read { [container, environment, accounts, outlets, schemas] reader in
            let schema = try schemas.schema(asOf: moment, reader)
            var oldest = try FanOutReader(container: container, environment, accounts, outlets, schema, reader)
            return try oldest?.read()
        }
        for fault in page?.faults ?? [] { environment.log("telling subscribers: \(fault)") }
        return page
    }

    private func tell(_ page: FanOutPage) async throws {
        var rest = page.items[...]
        var isFirst = true
        while isFirst || !rest.isEmpty {
            if loop.isClosed { return }
            let piece = Self.piece(&rest)
            let isEnd = rest.isEmpty
            let covered = isFirst ? page.covered : []
            isFirst = false
            let notices = try await engine.write { [outlets, environment] transaction in
                var outbox = OutboxWriter(outlets, by: page.origin, at: environment.now(), transaction)
                for item in piece { try Self.leave(item, &outbox) }
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
                return try outbox.finish()
            }
            deliver(notices)
        }
    }

    /// The next notifications, at most `Limits.outboxRowsPerFanOut` outbox rows of them.
    private static func piece(_ rest: inout ArraySlice<FanOutPage.Item>) -> ArraySlice<FanOutPage.Item> {
        var room = Limits.outboxRowsPerFanOut
        let piece = rest.prefix { item in
            defer { room -= max(1, item.destinations) }
            return room > 0
        }
        rest = rest.dropFirst(piece.count)
        return piece
    }

    private static func leave(_ item: FanOutPage.Item, _ outbox: inout OutboxWriter) throws {
        let row = item.subscription
        // A subscription that was deleted since the commit is not notified.
        if !item.isFormer {
            let current = try outbox.transaction.subscription(owner: row.owner, account: row.account, id: row.id)
            if current == nil { return }
        }
        try outbox.add(item.payload, collapseID: item.collapseID, account: row.account, subject: item.subject)
        if item.isLast {
            _ = try outbox.transaction.removeSubscription(owner: row.owner, account: row.account, id: row.id)
        }
    }
}
