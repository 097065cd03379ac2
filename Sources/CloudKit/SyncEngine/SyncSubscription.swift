/// How far a sync engine has come with hearing of changes.
struct SyncSubscription: Sendable {
    /// The account for which the service has the engine's subscription, as far as is known.
    private weak var saver: AccountSession?
    /// Waits for notifications.
    var listening: Task<Void, Never>?

    func isSaved(by account: AccountSession) -> Bool { saver === account }
    mutating func noteSave(by account: AccountSession) { saver = account }
    mutating func forgetSave() { saver = nil }
}

extension SyncEngineCore {
    /// The subscription of engines that are not told which: all devices of an account share it.
    static let ownSubscriptionID = "CKSyncEngine"

    /// Has the service tell of changes in the database from now on; for engines that work by themselves.
    ///
    /// The subscription is saved once for each start of the engine: it may have been deleted meanwhile.
    /// - Returns: Why to try again later; nil once that is not needed.
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
                // A database that takes no such subscription is fetched when the app says so.
            }
            subscription.withLock { $0.noteSave(by: account) }
        }
        // Where this fails, the feed tries again by itself and says when it is there.
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
