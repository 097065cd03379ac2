public import Foundation

/// A notification of a change that a subscription covers (CKNotification, Apple's documentation).
///
///     let notification = CKNotification(fromRemoteNotificationDictionary: userInfo)
///     if let notification = notification as? CKQueryNotification { … }
///
/// Notifications are advisory: the service may coalesce several into one, and prunes a large one. Fetch the changes
/// themselves.
open class CKNotification: NSObject, CKRemoteNotificationReading, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: all members are constants.

    /// The kind of a notification, by its subject.
    public enum NotificationType: Int, Sendable, BitwiseCopyable {
        /// A `CKQueryNotification`.
        case query = 1
        /// A `CKRecordZoneNotification`.
        case recordZone = 2
        /// A notification that another one was read, or one whose kind was pruned.
        case readNotification = 3
        /// A `CKDatabaseNotification`.
        case database = 4
    }

    let content: NotificationContent

    init(_ content: NotificationContent) { self.content = content }

    @available(*, unavailable, message: "use init(fromRemoteNotificationDictionary:)")
    public override init() { raise("CKNotification has no init(): notifications come from the service.") }

    /// Returns a notification with this content, of the matching class.
    static func notification(_ content: NotificationContent) -> CKNotification {
        switch content.subject {
        case .query: CKQueryNotification(content)
        case .recordZone: CKRecordZoneNotification(content)
        case .database: CKDatabaseNotification(content)
        case nil: CKNotification(content)
        }
    }

    /// The kind of the notification, by its subject.
    open var notificationType: CKNotification.NotificationType {
        switch content.subject {
        case .query: .query
        case .recordZone: .recordZone
        case .database: .database
        case nil: .readNotification
        }
    }

    /// Identifies the notification.
    open var notificationID: CKNotification.ID? { content.notificationID }

    /// The container that the notification comes from.
    open var containerIdentifier: String? { content.containerIdentifier }

    /// The owner of the subscription. The ID contains the name of the user record, never `CKCurrentUserDefaultName`.
    open var subscriptionOwnerUserRecordID: CKRecord.ID? {
        content.ownerRecordName.map { CKRecord.ID(unchecked: $0) }
    }

    /// Whether the service removed content because the whole notification was too large to send.
    open var isPruned: Bool { content.isPruned }

    /// The subscription that the notification comes from.
    open var subscriptionID: CKSubscription.ID? { content.subscriptionID }

    open override var description: String {
        "<\(notificationType.className): \(address(of: self)); "
            + "notificationID=\(notificationID.map { $0.uuidString } ?? "nil"), "
            + "containerIdentifier=\(containerIdentifier ?? "nil"), subscriptionID=\(subscriptionID ?? "nil")>"
    }

    open override var debugDescription: String { description }
}

extension CKNotification.NotificationType {
    /// The name of the class in Apple's framework.
    fileprivate var className: String {
        switch self {
        case .query: "CKQueryNotification"
        case .recordZone: "CKRecordZoneNotification"
        case .database: "CKDatabaseNotification"
        case .readNotification: "CKNotification"
        }
    }
}

/// Provides the initializer of `CKNotification` that returns instances of its subclasses, which an initializer of the
/// class itself cannot do. Not part of Apple's API; `CKNotification` is the only adopter.
public protocol CKRemoteNotificationReading {}

extension CKRemoteNotificationReading where Self: CKNotification {
    /// Creates a notification of the matching subclass from the dictionary of a remote notification.
    ///
    /// Returns nil if the dictionary is not CloudKit's, or is of another kind than the class of the call.
    public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        guard let content = NotificationContent(notificationDictionary),
            let notification = CKNotification.notification(content) as? Self
        else { return nil }
        self = notification
    }
}
