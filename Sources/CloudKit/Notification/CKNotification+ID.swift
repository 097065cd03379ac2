public import Foundation

extension CKNotification {
    /// The identifier of a notification. Two IDs of the same notification are equal.
    public final class ID: NSObject, NSSecureCoding, NSCopying, Sendable {
        let uuidString: String

        init(uuidString: String) { self.uuidString = uuidString }

        @available(*, unavailable, message: "IDs come with notifications")
        public override init() { raise("CKNotification.ID has no init(): IDs come with notifications.") }

        public static var supportsSecureCoding: Bool { true }

        public init?(coder: NSCoder) {
            guard let uuidString = coder.string(forKey: ArchiveKey.notificationID) else { return nil }
            self.uuidString = uuidString
        }

        public func encode(with coder: NSCoder) {
            coder.encode(NSString(string: uuidString), forKey: ArchiveKey.notificationID)
        }

        public override var classForKeyedArchiver: AnyClass? { ArchivedClass.notificationID.archiverClass }

        public func copy(with zone: NSZone? = nil) -> Any { self }

        public override func isEqual(_ object: Any?) -> Bool {
            (object as? CKNotification.ID)?.uuidString == uuidString
        }

        public override var hash: Int { uuidString.hashValue }

        public override var description: String { "<CKNotificationID: \(address(of: self)); UUID=\(uuidString)>" }

        public override var debugDescription: String { description }
    }
}

@available(*, deprecated, renamed: "CKNotification.ID")
public typealias CKNotificationID = CKNotification.ID
@available(*, deprecated, renamed: "CKNotification.NotificationType")
public typealias CKNotificationType = CKNotification.NotificationType
@available(*, deprecated, renamed: "CKQueryNotification.Reason")
public typealias CKQueryNotificationReason = CKQueryNotification.Reason
