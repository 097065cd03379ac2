/// The subscription of a sync engine to changes in its database.
struct SyncSubscription: Sendable {
    /// The session of the account for which the engine's subscription is saved; nil if that is unknown.
    private weak var saver: AccountSession?
    /// The task that waits for notifications; nil if none runs.
    var listening: Task<Void, Never>?

    func isSaved(by account: AccountSession) -> Bool { saver === account }
    mutating func noteSave(by account: AccountSession) { saver = account }
    mutating func forgetSave() { saver = nil }
}

extension SyncEngineCore {
    /// The default ID of the subscriptions of engines. All devices of an account share the subscription.
    static let ownSubscriptionID = "CKSyncEngine"

    /// Subscribes to changes in the database, for engines that sync by themselves.
    ///
    /// The subscription is saved once per start of the engine, because it may have been deleted meanwhile.
    /// - Returns: the error after which to retry; nil if no retry is needed.
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
                // The database does not support the subscription, so the engine learns of changes only when the app
                // fetches.
            }
            subscription.withLock { $0.noteSave(by: account) }
        }
        // If connecting fails, the notification feed retries by itself and reports the connection.
        if !account.hasEnded { try? await database.session.notifications.connect() }
        return nil
    }

    private func listen() {
        subscription.withLock { subscription in
            guard subscription.listening == nil else { return }
            let events = database.session.notifications.events()
            subscription.listening = Task(executorPreference: environment.observer?.executor) { [weak self] in
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
