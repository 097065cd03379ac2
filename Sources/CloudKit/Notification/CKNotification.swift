public import Foundation

/// A notification of a change that a subscription covers (CKNotification, Apple's documentation).
///
///     let notification = CKNotification(fromRemoteNotificationDictionary: userInfo)
///     if let notification = notification as? CKQueryNotification { … }
///
/// Notifications are advisory: the service can coalesce several into one, and it prunes the content of a large one. So
/// fetch the changes themselves.
open class CKNotification: NSObject, CKRemoteNotificationReading, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: all stored properties are constants.

    /// The kind of a notification: the kind of the change that it reports.
    public enum NotificationType: Int, Sendable, BitwiseCopyable {
        /// The notification is a ``CKQueryNotification``.
        case query = 1
        /// The notification is a ``CKRecordZoneNotification``.
        case recordZone = 2
        /// The notification reports that another notification was read, or its kind was pruned.
        case readNotification = 3
        /// The notification is a ``CKDatabaseNotification``.
        case database = 4
    }

    let content: NotificationContent

    init(_ content: NotificationContent) { self.content = content }

    @available(*, unavailable, message: "use init(fromRemoteNotificationDictionary:)")
    public override init() { raise("CKNotification has no init(): notifications come from the service.") }

    /// Creates a notification with the given content, of the subclass for its kind.
    static func notification(_ content: NotificationContent) -> CKNotification {
        switch content.subject {
        case .query: CKQueryNotification(content)
        case .recordZone: CKRecordZoneNotification(content)
        case .database: CKDatabaseNotification(content)
        case nil: CKNotification(content)
        }
    }

    /// The kind of the notification, which determines its subclass.
    open var notificationType: CKNotification.NotificationType {
        switch content.subject {
        case .query: .query
        case .recordZone: .recordZone
        case .database: .database
        case nil: .readNotification
        }
    }

    /// The notification's identifier; nil if the notification has none.
    open var notificationID: CKNotification.ID? { content.notificationID }

    /// The identifier of the container in which the change happened; nil if the notification names none.
    open var containerIdentifier: String? { content.containerIdentifier }

    /// The record ID of the user who owns the subscription; nil if the notification names none. The ID contains the
    /// name of the user record, never `CKCurrentUserDefaultName`.
    open var subscriptionOwnerUserRecordID: CKRecord.ID? {
        content.ownerRecordName.map { CKRecord.ID(unchecked: $0) }
    }

    /// Whether the service removed content because the whole notification exceeded the size limit.
    open var isPruned: Bool { content.isPruned }

    /// The ID of the subscription that caused the notification; nil if the notification names none.
    open var subscriptionID: CKSubscription.ID? { content.subscriptionID }

    open override var description: String {
        "<\(notificationType.className): \(address(of: self)); "
            + "notificationID=\(notificationID.map { $0.uuidString } ?? "nil"), "
            + "containerIdentifier=\(containerIdentifier ?? "nil"), subscriptionID=\(subscriptionID ?? "nil")>"
    }

    open override var debugDescription: String { description }
}

extension CKNotification.NotificationType {
    /// The name of the notification's class in Apple's framework.
    fileprivate var className: String {
        switch self {
        case .query: "CKQueryNotification"
        case .recordZone: "CKRecordZoneNotification"
        case .database: "CKDatabaseNotification"
        case .readNotification: "CKNotification"
        }
    }
}

/// A protocol for the initializer of `CKNotification` that returns instances of subclasses. An initializer in the class
/// itself cannot do that. Not part of Apple's API; only `CKNotification` adopts the protocol.
public protocol CKRemoteNotificationReading {}

extension CKRemoteNotificationReading where Self: CKNotification {
    /// Creates a notification of the matching subclass from the dictionary of a remote notification.
    ///
    /// Returns nil if the dictionary is not CloudKit's, or if its notification is not of the class on which the
    /// initializer is called.
    public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        guard let content = NotificationContent(notificationDictionary),
            let notification = CKNotification.notification(content) as? Self
        else { return nil }
        self = notification
    }
}
