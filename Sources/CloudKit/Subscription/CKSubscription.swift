public import Foundation

/// A request to notify the account of changes in a database (CKSubscription, Apple's documentation).
///
/// Only instances of the subclasses can be saved: `CKQuerySubscription`, `CKRecordZoneSubscription`,
/// `CKDatabaseSubscription`. A subscription belongs to the account that saved it, in one database. It covers changes by
/// other accounts, and changes that the same account makes on other devices.
open class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Unchecked, because an open class requires it: locks guard all mutable state, here and in the subclasses.

    /// The name of a subscription in its database, which the app chooses.
    public typealias ID = String

    /// The kind of changes that a subscription covers.
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

    /// The name of the subscription in its database.
    open var subscriptionID: CKSubscription.ID { id }

    /// The kind of changes that the subscription covers.
    open var subscriptionType: CKSubscription.SubscriptionType { type }

    /// The alert and the payload of the subscription's notifications; nil shows nothing. The setter stores a copy. The
    /// getter returns the subscription's own object, whose properties can be set.
    open var notificationInfo: CKSubscription.NotificationInfo? {
        get { info.withLock { $0 } }
        set { info.exchange(newValue?.copied()) }
    }

    // MARK: Copying, archives and equality

    open class var supportsSecureCoding: Bool { true }

    /// Restores a subscription from an archive. If the archive contains none, the coder fails, and the subscription is
    /// empty.
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

    /// Returns an independent copy of the subscription.
    func duplicate() -> CKSubscription { CKSubscription(id, type, notificationInfo) }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKSubscription else { return false }
        return self === other
            || (id == other.id && type == other.type && notificationInfo == other.notificationInfo
                && hasSameSubject(as: other))
    }

    /// Returns whether `other`, a subscription of the same type, covers the same changes.
    func hasSameSubject(as other: CKSubscription) -> Bool { true }

    open override var hash: Int { id.hashValue }

    open override var description: String {
        "<\(ArchivedClass.name(of: self)): \(address(of: self)); subscriptionID=\(id)\(subjectDescription)>"
    }

    /// The description of the changes that the subscription covers, with a leading comma; empty if there is none.
    var subjectDescription: String { "" }

    open override var debugDescription: String { description }
}

extension ArchivedClass {
    /// Returns the name of a subscription's class in Apple's framework.
    fileprivate static func name(of subscription: CKSubscription) -> String {
        switch subscription.subscriptionType {
        case .query: querySubscription.name
        case .recordZone: recordZoneSubscription.name
        case .database: databaseSubscription.name
        }
    }
}
