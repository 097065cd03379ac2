/// How far a sync engine has come with hearing of changes.
struct SyncSubscription: Sendable {
    /// Whether the service has the engine's subscription, as far as is known.
    var isSaved = false
    /// Waits for notifications.
    var listening: Task<Void, Never>?
}

extension SyncEngineCore {
    /// The subscription of engines that are not told which: all devices of an account share it.
    static let ownSubscriptionID = "CKSyncEngine"

    /// Has the service tell of changes in the database from now on; for engines that work by themselves.
    ///
    /// The subscription is saved once for each start of the engine: it may have been deleted meanwhile.
    /// - Returns: Why to try again later; nil once that is not needed.
    func subscribe() async -> CKError? {
        listen()
        if !subscription.isSaved {
            let id = preferredSubscriptionID ?? Self.ownSubscriptionID
            let wanted = CKDatabaseSubscription(subscriptionID: id)
            wanted.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            do {
                try await database.save(wanted)
                if state.read({ $0.subscriptionID }) != id { state.update { $0.subscriptionID = id } }
            } catch {
                let error = CKError(any: error)
                if error.isRetriedByEngine { return error }
                // A database that takes no such subscription is fetched when the app says so.
            }
            subscription.isSaved = true
        }
        // Where this fails, the feed tries again by itself and says when it is there.
        try? await database.session.notifications.connect()
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
        }
    }
}
