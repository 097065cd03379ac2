import Foundation

/// The content of a notification: the alert, and the reported change.
struct NotificationContent: @unchecked Sendable {
    // Unchecked, because `recordFields` contains Foundation's objects, which are immutable.

    /// The kind of change that a notification reports.
    enum Subject: Sendable {
        case query
        case recordZone
        case database
    }

    struct Alert: Sendable {
        var body: String?
        var bodyKey: String?
        var bodyArguments: [String]?
        var title: String?
        var titleKey: String?
        var titleArguments: [String]?
        var subtitle: String?
        var subtitleKey: String?
        var subtitleArguments: [String]?
        var actionKey: String?
        var launchImage: String?
    }

    var alert = Alert()
    var badge: Int?
    var soundName: String?
    var category: String?

    var notificationID: CKNotification.ID?
    var containerIdentifier: String?
    var ownerRecordName: String?
    var isPruned = false

    /// The kind of the reported change; nil if it was pruned.
    var subject: Subject?
    var subscriptionID: String?
    var scope: CKDatabase.Scope?
    var zoneID: CKRecordZone.ID?
    var recordName: String?
    var reason: CKQueryNotification.Reason?
    var recordFields: [String: Any]?
}
