public import Foundation

/// Something that happens in a database and of which an app is to be told (CKSubscription, Apple's documentation).
///
/// What can be saved are its subclasses: `CKQuerySubscription`, `CKRecordZoneSubscription`, `CKDatabaseSubscription`. A
/// subscription belongs to the account that saved it, in one database; it is told of what others do, and of what the
/// same account does elsewhere.
open class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Unchecked, because an open class cannot be checked: what changes is behind locks, here and in the subclasses.

    /// Names a subscription in its database; the app chooses it.
    public typealias ID = String

    /// Of what a subscription tells.
    public enum SubscriptionType: Int, Sendable, BitwiseCopyable {
        /// Records that match a query.
        case query = 1
        /// Every change in one zone notifies.
        case recordZone = 2
        /// Every change in the custom zones of a database notifies.
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

    /// Of what the subscription tells.
    open var subscriptionType: CKSubscription.SubscriptionType { type }

    /// How a notification looks and what it brings along; nil shows nothing. What is set is copied; what is got is the
    /// subscription's own, and is changed in place.
    open var notificationInfo: CKSubscription.NotificationInfo? {
        get { info.withLock { $0 } }
        set { info.exchange(newValue?.copied()) }
    }

    // MARK: Copying, archives and comparing

    open class var supportsSecureCoding: Bool { true }

    /// Restores a subscription. From an archive that holds none it makes an empty one, and fails the coder.
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

    /// A subscription of the same content, which changes by itself.
    func duplicate() -> CKSubscription { CKSubscription(id, type, notificationInfo) }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKSubscription else { return false }
        return self === other
            || (id == other.id && type == other.type && notificationInfo == other.notificationInfo
                && hasSameSubject(as: other))
    }

    /// Whether `other`, which is of the same type, tells of the same things.
    func hasSameSubject(as other: CKSubscription) -> Bool { true }

    open override var hash: Int { id.hashValue }

    open override var description: String {
        "<\(ArchivedClass.name(of: self)): \(address(of: self)); subscriptionID=\(id)\(subjectDescription)>"
    }

    /// What the description says of the subject, beginning with a comma.
    var subjectDescription: String { "" }

    open override var debugDescription: String { description }
}

extension ArchivedClass {
    /// What Apple's framework calls a subscription's class.
    fileprivate static func name(of subscription: CKSubscription) -> String {
        switch subscription.subscriptionType {
        case .query: querySubscription.name
        case .recordZone: recordZoneSubscription.name
        case .database: databaseSubscription.name
        }
    }
}
