import NephosStorage
import Synchronization

/// Sends due notifications from the outbox of one store. Deliveries are concurrent, and each is repeated until its
/// outcome is final. The rows are in the store, so a delivery that a crash interrupted is repeated when the store is
/// opened.
final class OutboxDispatcher: Sendable {
    private struct State {
        /// The IDs of the rows that are being sent.
        var inFlight: Set<Int64> = []
        /// The task that waits until the next row is due; nil before the first wait.
        var timer: Task<Void, Never>?
    }

    private let id: StoreID
    private let engine: any StorageEngine
    private let environment: ServiceEnvironment
    private let accounts: Accounts
    private let schemas: SchemaCatalog
    private let outlets: NotificationOutlets
    private let schedule: RetrySchedule
    private let loop = WorkLoop()
    private let state = Mutex(State())

    init(
        id: StoreID, engine: any StorageEngine, environment: ServiceEnvironment, accounts: Accounts,
        schemas: SchemaCatalog, configuration: ServiceConfiguration
    ) {
        self.id = id
        self.engine = engine
        self.environment = environment
        self.accounts = accounts
        self.schemas = schemas
        outlets = configuration.notifications
        schedule = configuration.retrySchedule
    }

    /// Wakes the dispatcher, because a row may be due.
    func wake() { loop.wake { await self.startWhatIsDue() } }

    /// Returns once no row is due and no row is being sent.
    func settle() async {
        wake()
        await loop.waitUntilIdle()
    }

    /// Waits for the current deliveries, and starts no other delivery.
    func close() async {
        await loop.close()
        state.withLock { $0.timer }?.cancel()
    }

    // MARK: Due rows

    private func startWhatIsDue() async -> Bool {
        do {
            try await beginWhatIsDue()
        } catch {
            environment.log("sending notifications stopped: \(error)")
        }
        return true
    }

    private func beginWhatIsDue() async throws {
        let now = environment.now()
        let inFlight = state.withLock { $0.inFlight }
        let free = Limits.concurrentDeliveries - inFlight.count
        if loop.isClosed || free <= 0 { return }
        var (rows, next) = try await engine.read { reader in
            (
                try reader.dueOutbox(at: now, limit: Limits.concurrentDeliveries + inFlight.count),
                try reader.nextOutboxDue(after: now)
            )
        }
        if engine.isShared && !rows.isEmpty {
            // If this server dies, another server sends these rows once the claim expires.
            rows = try await engine.write {
                try $0.claimDueOutbox(at: now, until: now + Limits.deliveryClaim, limit: free)
            }
            next = min(next ?? .max, now + Limits.deliveryClaim)
        }
        let new = rows.filter { !inFlight.contains($0.id) }.prefix(free)
        state.withLock { state in
            for row in new { state.inFlight.insert(row.id) }
        }
        for row in new { loop.begin { await self.send(row) } }
        if let next { wake(at: next) }
    }

    private func wake(at due: Int64) {
        let timer = Task { [environment] in
            try? await environment.sleepUntil(due)
            if !Task.isCancelled { self.wake() }
        }
        state.withLock { state in
            defer { state.timer = timer }
            return state.timer
        }?.cancel()
    }

    // MARK: Sending

    private func send(_ row: OutboxRow) async {
        do {
            if let (notification, destination, delivery) = try await prepare(row) {
                let outcome = await delivery.deliver(notification, to: destination)
                try await settle(row, notification, destination, outcome)
            } else {
                try await engine.write { try Self.remove(row, in: $0) }
            }
        } catch {
            environment.log("notification \(row.notificationID) cannot be sent: \(error)")
        }
        _ = state.withLock { $0.inFlight.remove(row.id) }
        // This delivery is over, so another one may start.
        wake()
    }

    private typealias Prepared = (OutgoingNotification, NotificationDestination, any NotificationDelivery)

    /// The notification, the destination and the delivery of an outbox row; nil if the destination was removed, or if
    /// the account may no longer read the record.
    private func prepare(_ row: OutboxRow) async throws -> Prepared? {
        let accounts = accounts
        let rules = WaitingNotifications(schemas: schemas, moment: schemas.now)
        let (destination, account) = try await engine.read { reader in
            (
                try rules.maySend(row, reader) ? Self.destination(of: row, reader) : nil,
                try accounts.userRecordName(id: row.account, reader)
            )
        }
        guard let destination, let delivery = outlets.delivery(to: destination) else { return nil }
        if case .webHook(let hook) = destination, !outlets.webHookDestinations.contains(hook) { return nil }
        let notification = OutgoingNotification(
            id: row.notificationID, container: id.container, environment: id.environment, account: account ?? "",
            subscriptionID: row.subscriptionID, payload: row.payload, collapseID: row.collapseID,
            isSilent: row.isSilent, createdAt: row.createdAt, attempt: Int(row.attempts) + 1)
        return (notification, destination, delivery)
    }

    private static func destination(
        of row: OutboxRow, _ reader: StorageReader
    ) throws -> NotificationDestination? {
        switch OutboxDestination(row.destination) {
        case .webHook(let url): return .webHook(WebHookDestination(url: url))
        case .device(let token):
            guard let known = try reader.pushToken(token), known.account == row.account, known.isDevice,
                let bytes = PushTokens.bytes(of: token),
                let environment = DeviceToken.Environment(rawValue: known.environment)
            else { return nil }
            return .device(DeviceToken(bytes: bytes, environment: environment))
        case .courier, nil: return nil
        }
    }

    private func settle(
        _ row: OutboxRow, _ notification: OutgoingNotification, _ destination: NotificationDestination,
        _ outcome: DeliveryOutcome
    ) async throws {
        switch outcome {
        case .delivered: break
        case .retry(let after, let reason):
            let due = schedule.nextAttempt(of: notification, after: after, now: environment.now())
            guard let due else {
                environment.log("notification \(row.notificationID) to \(destination) is given up: \(reason)")
                break
            }
            try await engine.write {
                try $0.updateOutbox(row, attempts: Int64(notification.attempt), due: due)
            }
            return
        case .rejected(let reason, let since):
            let isForgotten = try await engine.write { try Self.forget(row, rejectedSince: since, in: $0) }
            guard isForgotten else {
                return try await settle(row, notification, destination, .retry(after: nil, reason: reason))
            }
            environment.log("\(destination) is no destination any more: \(reason)")
            return
        case .undeliverable(let reason):
            environment.log("notification \(row.notificationID) to \(destination) cannot be delivered: \(reason)")
        }
        try await engine.write { try Self.remove(row, in: $0) }
    }

    /// Removes the destination of a row together with its queue.
    /// - Returns: false for a device that has registered since the rejection, and so is valid again (Apple's
    ///   documentation, Handling notification responses from APNs, `timestamp`).
    private static func forget(
        _ row: OutboxRow, rejectedSince since: Int64?, in transaction: StorageTransaction
    ) throws -> Bool {
        if case .device(let token)? = OutboxDestination(row.destination) {
            if let since, let known = try transaction.pushToken(token), known.seenAt > since { return false }
            try transaction.removePushToken(token)
        }
        try transaction.removeOutbox(account: row.account, destination: row.destination, keeping: 0)
        return true
    }

    private static func remove(_ row: OutboxRow, in transaction: StorageTransaction) throws {
        try transaction.removeOutbox(account: row.account, destination: row.destination, id: row.id)
    }
}
