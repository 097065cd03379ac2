public import Foundation

/// Tells of every change in a database (CKDatabaseSubscription, Apple's documentation). For the private and the shared
/// database; changes in the default zone do not count.
open class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
    private let type: Locked<CKRecord.RecordType?>

    /// Tells of changes in the database that it is saved in.
    public init(subscriptionID: CKSubscription.ID) {
        type = Locked(nil)
        super.init(subscriptionID, .database)
    }

    /// Tells of changes in the database that it is saved in. The subscription gets a UUID as its ID, and so another one
    /// each time.
    @available(*, deprecated, message: "use init(subscriptionID:)")
    public convenience init() {
        self.init(subscriptionID: UUID().uuidString)
    }

    // The designated initializers of a subscription are overridden, so that the convenience initializers are inherited
    // which apps add to it.
    override init(_ subscriptionID: ID, _ type: SubscriptionType, _ notificationInfo: NotificationInfo? = nil) {
        raise("CKDatabaseSubscription has no such initializer.")
    }

    init(_ subscriptionID: ID, recordType: CKRecord.RecordType?, notificationInfo: NotificationInfo?) {
        type = Locked(recordType)
        super.init(subscriptionID, .database, notificationInfo)
    }

    /// The type of the records whose changes count; nil is every type.
    open var recordType: CKRecord.RecordType? {
        get { type.withLock { $0 } }
        set { type.exchange(newValue) }
    }

    // MARK: Copying, archives and comparing

    /// Restores a subscription. From an archive that holds none it makes an empty one, and fails the coder.
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
