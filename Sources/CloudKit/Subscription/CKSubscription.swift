public import Foundation

/// A kind of change in a database of which the service notifies an app (CKSubscription, Apple's documentation).
///
/// Only instances of its subclasses can be saved: `CKQuerySubscription`, `CKRecordZoneSubscription`,
/// `CKDatabaseSubscription`. A subscription belongs to the account that saved it, in one database. It covers changes by
/// other accounts, and those that the same account makes elsewhere.
open class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Unchecked, because an open class cannot be checked: all mutable state is behind locks, here and in the
    // subclasses.

    /// A subscription's name in its database, chosen by the app.
    public typealias ID = String

    /// The kinds of changes that subscriptions cover.
    public enum SubscriptionType: Int, Sendable, BitwiseCopyable {
        /// Changes to records that match a query.
        case query = 1
        /// Every change in one zone.
        case recordZone = 2
        /// Every change in the custom zones of a database.
        case database = 3
    }

    private let id: ID
    private let type: SubscriptionType
    private let info: Locked<NotificationInfo?>

    init(_ subscriptionID: ID, _ type: SubscriptionType, _ notificationInfo: NotificationInfo? = nil) {
        id = subscriptionID
        self.type = type
        info = Locked(notificationInfo?.copied())
    }

    @available(*, unavailable, message: "use a subclass of CKSubscription")
    public override init() { raise("CKSubscription has no init(): use one of its subclasses.") }

    /// The subscription's name in its database.
    open var subscriptionID: CKSubscription.ID { id }

    /// The kind of changes that the subscription covers.
    open var subscriptionType: CKSubscription.SubscriptionType { type }

    /// The form and the payload of a notification; nil shows nothing. The setter keeps a copy. The getter returns the
    /// subscription's own object, which can be changed in place.
    open var notificationInfo: CKSubscription.NotificationInfo? {
        get { info.withLock { $0 } }
        set { info.exchange(newValue?.copied()) }
    }

    // MARK: Copying, archives and equality

    open class var supportsSecureCoding: Bool { true }

    /// Restores a subscription. An archive without one fails the coder and yields an empty subscription.
    public required init(coder aDecoder: NSCoder) {
        let id = aDecoder.string(forKey: ArchiveKey.subscriptionID)
        let type = SubscriptionType(rawValue: aDecoder.decodeInteger(forKey: ArchiveKey.subscriptionType))
        if id == nil || type == nil { aDecoder.failWithError(CocoaError(.coderReadCorrupt)) }
        self.id = id ?? ""
        self.type = type ?? .database
        info = Locked(aDecoder.object(of: NotificationInfo.self, forKey: ArchiveKey.notificationInfo))
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: id), forKey: ArchiveKey.subscriptionID)
        coder.encode(type.rawValue, forKey: ArchiveKey.subscriptionType)
        coder.encode(notificationInfo, forKey: ArchiveKey.notificationInfo)
    }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.subscription.archiverClass }

    open func copy(with zone: NSZone? = nil) -> Any { duplicate() }

    /// Returns an independent copy.
    func duplicate() -> CKSubscription { CKSubscription(id, type, notificationInfo) }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKSubscription else { return false }
        return self === other
            || (id == other.id && type == other.type && notificationInfo == other.notificationInfo
                && hasSameSubject(as: other))
    }

    /// Whether `other`, which is of the same type, covers the same changes.
    func hasSameSubject(as other: CKSubscription) -> Bool { true }

    open override var hash: Int { id.hashValue }

    open override var description: String {
        "<\(ArchivedClass.name(of: self)): \(address(of: self)); subscriptionID=\(id)\(subjectDescription)>"
    }

    /// The subject in the description, beginning with a comma.
    var subjectDescription: String { "" }

    open override var debugDescription: String { description }
}

extension ArchivedClass {
    /// The name of a subscription's class in Apple's framework.
    fileprivate static func name(of subscription: CKSubscription) -> String {
        switch subscription.subscriptionType {
        case .query: querySubscription.name
        case .recordZone: recordZoneSubscription.name
        case .database: databaseSubscription.name
        }
    }
}
