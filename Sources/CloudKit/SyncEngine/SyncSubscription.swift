/// The state of a sync engine's subscription to changes.
struct SyncSubscription: Sendable {
    /// The session of the account that has the engine's subscription saved, as far as is known.
    private weak var saver: AccountSession?
    /// The task that waits for notifications.
    var listening: Task<Void, Never>?

    func isSaved(by account: AccountSession) -> Bool { saver === account }
    mutating func noteSave(by account: AccountSession) { saver = account }
    mutating func forgetSave() { saver = nil }
}

extension SyncEngineCore {
    /// The default subscription ID of engines: all devices of an account share it.
    static let ownSubscriptionID = "CKSyncEngine"

    /// Subscribes to changes in the database; for engines that sync by themselves.
    ///
    /// Saves the subscription once for each start of the engine: it may have been deleted in the meantime.
    /// - Returns: The error after which to retry; nil if no retry is needed.
    func subscribe(as account: AccountSession) async -> CKError? {
        listen()
        if !subscription.withLock({ $0.isSaved(by: account) }) {
            let id = preferredSubscriptionID ?? Self.ownSubscriptionID
            let wanted = CKDatabaseSubscription(subscriptionID: id)
            wanted.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            do {
                try await database.bound(to: account).save(wanted)
                if state.read({ $0.subscriptionID }) != id { state.update { $0.subscriptionID = id } }
            } catch {
                let error = CKError(any: error)
                if error.isRetriedByEngine { return error }
                // The database does not support the subscription: only the app's calls fetch it.
            }
            subscription.withLock { $0.noteSave(by: account) }
        }
        // If this fails, the feed retries by itself and reports the connection.
        if !account.hasEnded { try? await database.session.notifications.connect() }
        return nil
    }

    private func listen() {
        subscription.withLock { subscription in
            guard subscription.listening == nil else { return }
            let events = database.session.notifications.events()
            subscription.listening = Task { [weak self] in
                for await event in events {
                    guard let self else { return }
                    if concerns(event) { serverChanged() }
                }
            }
        }
    }

    func stopListening() { subscription.withLock { $0.listening }?.cancel() }

    private func concerns(_ event: NotificationFeed.Event) -> Bool {
        switch event {
        case .notification(let notification as CKDatabaseNotification):
            notification.databaseScope == database.databaseScope
        case .notification(let notification as CKRecordZoneNotification):
            notification.databaseScope == database.databaseScope
        case .notification: false
        case .resumed: true
        case .accepted: database.databaseScope == .shared
        }
    }
}
