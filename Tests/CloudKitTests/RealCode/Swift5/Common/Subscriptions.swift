import CloudKit

// Subscriptions and notifications as apps write them.

/// Subscribes once, remembers that it did, and sorts notifications.
final class SubscriptionKeeper {
    private let container: CKContainer
    private lazy var database = container.privateCloudDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)
    private(set) var createdCustomZone = false

    init(container: CKContainer) { self.container = container }

    func subscribeToEverything(completion: @escaping @Sendable (Error?) -> Void) {
        let subscription = CKDatabaseSubscription(subscriptionID: "private-changes")
        let notificationInfo = CKSubscription.NotificationInfo()
        notificationInfo.shouldSendContentAvailable = true
        subscription.notificationInfo = notificationInfo

        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: [subscription], subscriptionIDsToDelete: [])
        operation.modifySubscriptionsResultBlock = { result in
            switch result {
            case .success: completion(nil)
            case .failure(let error): completion(error)
            }
        }
        operation.qualityOfService = .utility
        database.add(operation)
    }

    func subscribeToNotes(completion: @escaping @Sendable (CKSubscription?, Error?) -> Void) {
        let predicate = NSPredicate(format: "TRUEPREDICATE")
        let subscription = CKQuerySubscription(
            recordType: "Note", predicate: predicate, subscriptionID: "new-notes",
            options: [.firesOnRecordCreation, .firesOnRecordDeletion])
        let info = CKSubscription.NotificationInfo()
        info.alertLocalizationKey = "%1$@ by %2$@"
        info.alertLocalizationArgs = ["title", "author"]
        info.soundName = "default"
        info.desiredKeys = ["title"]
        info.shouldBadge = true
        subscription.notificationInfo = info
        subscription.zoneID = zoneID
        database.save(subscription, completionHandler: completion)
    }

    func subscribeIfNeeded(defaults: UserDefaults) async throws {
        guard !defaults.bool(forKey: "subscribed") else { return }
        let known = try await database.allSubscriptions().map { $0.subscriptionID }
        if !known.contains("zone") {
            let subscription = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "zone")
            subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            let (saved, _) = try await database.modifySubscriptions(saving: [subscription], deleting: [])
            _ = try saved[subscription.subscriptionID]?.get()
        }
        defaults.set(true, forKey: "subscribed")
    }

    func removeAll(completion: @escaping @Sendable ([String], Error?) -> Void) {
        database.fetchAllSubscriptions { [database] subscriptions, error in
            guard let subscriptions = subscriptions else { return completion([], error) }
            let operation = CKModifySubscriptionsOperation(
                subscriptionsToSave: nil, subscriptionIDsToDelete: subscriptions.map(\.subscriptionID))
            let ids = subscriptions.map(\.subscriptionID)
            operation.modifySubscriptionsResultBlock = { result in
                if case .failure(let error) = result { completion([], error) } else { completion(ids, nil) }
            }
            database.add(operation)
        }
    }

    /// What an app delegate does with a remote notification.
    func handle(_ userInfo: [AnyHashable: Any]) -> String {
        guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) else { return "not ours" }
        guard notification.subscriptionID != "ignored" else { return "ignored" }
        switch notification.notificationType {
        case .query:
            guard let query = notification as? CKQueryNotification, let recordID = query.recordID else {
                return "pruned"
            }
            switch query.queryNotificationReason {
            case .recordCreated, .recordUpdated: return "fetch \(recordID.recordName)"
            case .recordDeleted: return "delete \(recordID.recordName)"
            @unknown default: return "?"
            }
        case .recordZone:
            return "zone \((notification as? CKRecordZoneNotification)?.recordZoneID?.zoneName ?? "?")"
        case .database:
            let scope = (notification as? CKDatabaseNotification)?.databaseScope
            return scope == .private ? "private" : "shared"
        case .readNotification: return "read"
        @unknown default: return "?"
        }
    }
}
