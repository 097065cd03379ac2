public import Foundation

/// A subscription to every change in a database (CKDatabaseSubscription, Apple's documentation). The private and the
/// shared database support it. Changes in the default zone cause no notification.
open class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
    private let type: Locked<CKRecord.RecordType?>

    /// Creates a subscription to changes in the database in which it is saved.
    public init(subscriptionID: CKSubscription.ID) {
        type = Locked(nil)
        super.init(subscriptionID, .database)
    }

    /// Creates a subscription to changes in the database in which it is saved. Its ID is a new UUID.
    @available(*, deprecated, message: "use init(subscriptionID:)")
    public convenience init() {
        self.init(subscriptionID: UUID().uuidString)
    }

    // The class overrides the designated initializers of a subscription, so that it inherits the convenience
    // initializers that apps add to `CKSubscription`.
    override init(_ subscriptionID: ID, _ type: SubscriptionType, _ notificationInfo: NotificationInfo? = nil) {
        raise("CKDatabaseSubscription has no such initializer.")
    }

    init(_ subscriptionID: ID, recordType: CKRecord.RecordType?, notificationInfo: NotificationInfo?) {
        type = Locked(recordType)
        super.init(subscriptionID, .database, notificationInfo)
    }

    /// The type of the records whose changes cause a notification; nil means every type.
    open var recordType: CKRecord.RecordType? {
        get { type.withLock { $0 } }
        set { type.exchange(newValue) }
    }

    // MARK: Copying, archives and comparing

    /// Restores a subscription from an archive. If the archive contains none, the coder fails, and the subscription is
    /// empty.
    public required init(coder aDecoder: NSCoder) {
        type = Locked(aDecoder.string(forKey: ArchiveKey.recordType))
        super.init(coder: aDecoder)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(recordType as NSString?, forKey: ArchiveKey.recordType)
    }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.databaseSubscription.archiverClass }

    override func duplicate() -> CKSubscription {
        CKDatabaseSubscription(subscriptionID, recordType: recordType, notificationInfo: notificationInfo)
    }

    override func hasSameSubject(as other: CKSubscription) -> Bool {
        (other as? CKDatabaseSubscription).map { recordType == $0.recordType } ?? false
    }

    override var subjectDescription: String { recordType.map { ", recordType=\($0)" } ?? "" }
}
