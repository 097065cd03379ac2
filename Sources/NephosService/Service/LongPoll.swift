import NephosStorage
import NephosWire

/// A notification that a poll returns.
package struct PolledNotification: Sendable {
    /// The notification's JSON (`NotificationPayload`).
    package var payload: [UInt8]
    /// Reports whether the response was sent in full. The transport must call this with false if it was not.
    package var wasSent: @Sendable (Bool) -> Void
}

/// A poll by a push token (CloudKit Web Services, web courier). Every bearer of the token may poll, and at a production
/// server only for the account that made the poll's address: a device's token moves to the account that signs in there.
///
/// A notification stays in the outbox until the client acknowledges it, so a crash or a broken connection delivers the
/// notification twice rather than never.
struct LongPoll {
    let token: String
    /// The name of the account for which the poll is; nil for whichever has the token.
    let account: String?
    let receipt: LongPollRegistry.Receipt
    /// Whether the poll waits for a notification if there is none.
    let waits: Bool
    let store: Store
    let environment: ServiceEnvironment

    private var destination: String { OutboxDestination.courier(token: token).text }

    /// - Returns: the next notification; nil if none arrived within the poll's duration.
    func next() async throws -> PolledNotification? {
        let row = try await store.engine.read { [token, account] reader -> PushTokenRow? in
            guard let row = try reader.pushToken(token) else { return nil }
            if let account, try reader.liveAccount(id: row.account)?.name != account { return nil }
            return row
        }
        guard let row else { throw ServiceError.unknownPushToken }
        try await acknowledge(row)
        // The poll is registered before the read, so a commit from now on finds the poll waiting.
        let waiter = waits ? store.longPolls.enter(token, account: row.account) : nil
        defer { if let waiter { store.longPolls.leave(token, waiter) } }
        if let waiting = try await firstWaiting(row) { return try await handOut(waiting) }
        guard let new = await waiter?.wait() else { return nil }
        // Another account may have registered the token meanwhile.
        guard new.account == row.account else { throw ServiceError.unknownPushToken }
        return try await handOut(new)
    }

    /// The first waiting notification that may be sent. Removes those before it.
    private func firstWaiting(_ row: PushTokenRow) async throws -> OutboxRow? {
        var limit = 1
        while true {
            let rules = WaitingNotifications(schemas: store.schemas, moment: store.schemas.now)
            let (refused, first) = try await store.engine.read { [destination, limit] reader in
                let rows = try reader.outbox(account: row.account, destination: destination, limit: limit)
                let first = try rows.firstIndex { try rules.maySend($0, reader) }
                return (rows[..<(first ?? rows.endIndex)].map(\.id), first.map { rows[$0] })
            }
            if refused.isEmpty { return first }
            try await store.engine.write { [destination] transaction in
                for id in refused {
                    try transaction.removeOutbox(account: row.account, destination: destination, id: id)
                }
            }
            if let first { return first }
            limit = Limits.notificationsPerRead
        }
    }

    private func handOut(_ row: OutboxRow) async throws -> PolledNotification {
        if store.engine.isShared { return try await handOutForAll(row) }
        store.longPolls.handOut(row, token)
        let (polls, token, id) = (store.longPolls, token, row.id)
        return PolledNotification(payload: row.payload) { wasSent in
            if !wasSent { polls.takeBack(id, token) }
        }
    }

    /// Hands out a notification of a store that several servers share. The next poll may reach another server, so the
    /// store records the hand-out.
    private func handOutForAll(_ row: OutboxRow) async throws -> PolledNotification {
        try await store.engine.write { [token] in try $0.noteHandedOut(row.id, token: token) }
        let (engine, environment, token, polls) = (store.engine, environment, token, store.longPolls)
        return PolledNotification(payload: row.payload) { wasSent in
            if wasSent { return }
            // The client's next poll may arrive before the write.
            polls.beginTakingBack(row.id, token)
            Task {
                defer { polls.endTakingBack(row.id, token) }
                do {
                    try await engine.write { transaction in
                        guard try transaction.pushToken(token)?.handedOut == row.id else { return }
                        try transaction.noteHandedOut(0, token: token)
                    }
                } catch {
                    environment.log("notification \(row.notificationID) may be taken for received: \(error)")
                }
            }
        }
    }

    /// Removes the notification that the client acknowledges, and updates the time at which the client was last seen.
    private func acknowledge(_ row: PushTokenRow) async throws {
        let last = store.longPolls.takeHandedOut(token)
        let isShared = store.engine.isShared
        var received: Int64?
        switch receipt {
        case .implied where store.longPolls.isTakingBack(row.handedOut, token): break
        case .implied: received = isShared && row.handedOut > 0 ? row.handedOut : last?.id
        case .exact(nil): break
        case .exact(let id?): received = last?.notificationID == id ? last?.id : try await find(id, row.account)
        }
        var seen = row
        let now = environment.now()
        if !row.polls || row.seenAt < now - Limits.pushTokenLifetime / 30 {
            seen.polls = true
            seen.seenAt = now
        }
        let isForgotten = isShared && row.handedOut > 0
        guard received != nil || seen != row || isForgotten else { return }
        try await store.engine.write { [seen, received, destination] transaction in
            if seen != row { try transaction.put(seen) }
            if isForgotten { try transaction.noteHandedOut(0, token: row.token) }
            if let received {
                try transaction.removeOutbox(account: row.account, destination: destination, id: received)
            }
        }
    }

    /// Searches the outbox for a notification, because after a restart the last hand-out is unknown.
    private func find(_ notificationID: String, _ account: Int64) async throws -> Int64? {
        try await store.engine.read { [destination] in
            try $0.outbox(account: account, destination: destination, limit: Limits.notificationsPerRead)
                .first { $0.notificationID == notificationID }?.id
        }
    }
}

extension ServiceError {
    static let unknownPushToken = ServiceError(
        .notFound, .unknownItem, "the push token is not known: create a new one with tokens/create")
}
