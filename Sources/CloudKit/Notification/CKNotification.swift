public import Foundation

/// Tells that something happened to which an app is subscribed (CKNotification, Apple's documentation).
///
///     let notification = CKNotification(fromRemoteNotificationDictionary: userInfo)
///     if let notification = notification as? CKQueryNotification { … }
///
/// Notifications are hints: several can become one, and a large one comes pruned. Fetch what changed.
open class CKNotification: NSObject, CKRemoteNotificationReading, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: everything in here is a constant.

    /// What kind of notification it is.
    public enum NotificationType: Int, Sendable, BitwiseCopyable {
        /// A `CKQueryNotification`.
        case query = 1
        /// A `CKRecordZoneNotification`.
        case recordZone = 2
        /// One that says that another was read; and one that has lost, by pruning, what kind it was.
        case readNotification = 3
        /// A `CKDatabaseNotification`.
        case database = 4
    }

    let content: NotificationContent

    init(_ content: NotificationContent) { self.content = content }

    @available(*, unavailable, message: "use init(fromRemoteNotificationDictionary:)")
    public override init() { raise("CKNotification has no init(): notifications come from the service.") }

    /// The notification that its content makes, of the class that fits.
    static func notification(_ content: NotificationContent) -> CKNotification {
        switch content.subject {
        case .query: CKQueryNotification(content)
        case .recordZone: CKRecordZoneNotification(content)
        case .database: CKDatabaseNotification(content)
        case nil: CKNotification(content)
        }
    }

    /// What kind of notification it is.
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

    /// The user whose subscription it is. The ID has the name of the user record, never `CKCurrentUserDefaultName`.
    open var subscriptionOwnerUserRecordID: CKRecord.ID? {
        content.ownerRecordName.map { CKRecord.ID(unchecked: $0) }
    }

    /// Whether the service left something out, because everything together was too large to send.
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
    /// What Apple's framework calls the class.
    fileprivate var className: String {
        switch self {
        case .query: "CKQueryNotification"
        case .recordZone: "CKRecordZoneNotification"
        case .database: "CKDatabaseNotification"
        case .readNotification: "CKNotification"
        }
    }
}

/// Gives `CKNotification` its initializer, which makes objects of its subclasses: in a class itself that cannot be
/// said. Not part of Apple's API; `CKNotification` is its only adopter.
public protocol CKRemoteNotificationReading {}

extension CKRemoteNotificationReading where Self: CKNotification {
    /// Reads the dictionary of a remote notification and makes a notification of the subclass that fits it.
    ///
    /// Nil where the dictionary is not CloudKit's, or is of another kind than the class this is called on.
    public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        guard let content = NotificationContent(notificationDictionary),
            let notification = CKNotification.notification(content) as? Self
        else { return nil }
        self = notification
    }
}
