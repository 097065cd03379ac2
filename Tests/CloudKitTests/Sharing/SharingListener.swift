import CloudKit

/// A device of an account that listens to its shared database, and knows when it heard of everything that happened before.
final class SharingListener {
    private static let sentinelZone = CKRecordZone.ID(zoneName: "Sentinel")
    /// Another device of the account: no device is notified of its own changes.
    private let other: CKDatabase
    private var iterator: CKContainer.Notifications.AsyncIterator

    /// - Parameter recordType: of the changes that it asks to hear of; nil for all.
    init(_ listening: CKContainer, other: CKContainer, recordType: String? = nil) async throws {
        self.other = other.privateCloudDatabase
        _ = try await self.other.save(CKRecordZone(zoneID: Self.sentinelZone))
        let subscription = CKDatabaseSubscription(subscriptionID: "shared")
        subscription.recordType = recordType
        _ = try await listening.sharedCloudDatabase.save(subscription)
        _ = try await listening.privateCloudDatabase.save(
            CKRecordZoneSubscription(zoneID: Self.sentinelZone, subscriptionID: "sentinel"))
        iterator = try await listening.notifications().makeAsyncIterator()
    }

    /// Whether there was a notification of the shared database. What caused one has to be settled.
    func hasHeard() async throws -> Bool {
        _ = try await other.save(
            CKRecord(recordType: "Sentinel", recordID: CKRecord.ID(zoneID: Self.sentinelZone)))
        var hasHeard = false
        while let notification = await iterator.next() {
            if notification.subscriptionID == "sentinel" { break }
            if (notification as? CKDatabaseNotification)?.databaseScope == .shared { hasHeard = true }
        }
        return hasHeard
    }
}

/// Who has to be notified of the steps of a model, and who may be.
struct NotificationForecast {
    private(set) var required: Set<String> = []
    private(set) var possible: Set<String> = []

    /// A step made one model of the other.
    /// - Parameter saved: shares of which something was saved though the models are the same.
    mutating func add(_ before: SharingModel, _ after: SharingModel, saved: Set<String>) {
        var shares = saved
        for key in Set(before.shares.keys).union(after.shares.keys) where before.shares[key] != after.shares[key] {
            shares.insert(key)
        }
        let names = Set(before.records.keys).union(after.records.keys).filter {
            before.records[$0] != after.records[$0]
        }
        for name in names { shares.formUnion([before.share(over: name), after.share(over: name)].compactMap { $0 }) }
        for account in after.accounts {
            let isMember = shares.contains {
                before.permission(account, in: $0) != .none || after.permission(account, in: $0) != .none
            }
            if isMember { possible.insert(account) }
            let others = Set(after.records.values.map(\.owner)).union(before.records.values.map(\.owner))
                .union(after.shares.values.map(\.owner)).subtracting([account])
            let sees = names.contains { name in
                let isOwn = (after.records[name] ?? before.records[name])?.owner == account
                return !isOwn && (before.mayRead(account, name) || after.mayRead(account, name))
            }
            if sees || others.contains(where: { before.shared(account, by: $0) != after.shared(account, by: $0) }) {
                required.insert(account)
                possible.insert(account)
            }
        }
    }
}
