public import Foundation

/// Tells of every change in a record zone (CKRecordZoneSubscription, Apple's documentation). For the private database,
/// and for zones that can fetch changes: the default zone cannot.
open class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
    private let zone: CKRecordZone.ID
    private let type: Locked<CKRecord.RecordType?>

    /// Tells of changes in a zone.
    public init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        zone = zoneID
        type = Locked(nil)
        super.init(subscriptionID, .recordZone)
    }

    /// Tells of changes in a zone. The subscription gets a UUID as its ID, and so another one each time.
    @available(*, deprecated, message: "use init(zoneID:subscriptionID:)")
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: UUID().uuidString)
    }

    // The designated initializers of a subscription are overridden, so that the convenience initializers are inherited
    // which apps add to it.
    override init(_ subscriptionID: ID, _ type: SubscriptionType, _ notificationInfo: NotificationInfo? = nil) {
        raise("CKRecordZoneSubscription has no such initializer.")
    }

    @available(*, unavailable, message: "use init(zoneID:subscriptionID:)")
    public override init() { raise("CKRecordZoneSubscription has no init(): use init(zoneID:subscriptionID:).") }

    init(
        _ zoneID: CKRecordZone.ID, _ subscriptionID: ID, recordType: CKRecord.RecordType?,
        notificationInfo: NotificationInfo?
    ) {
        zone = zoneID
        type = Locked(recordType)
        super.init(subscriptionID, .recordZone, notificationInfo)
    }

    /// In which zone a change notifies.
    open var zoneID: CKRecordZone.ID { zone }

    /// The type of the records whose changes count; nil is every type.
    open var recordType: CKRecord.RecordType? {
        get { type.withLock { $0 } }
        set { type.exchange(newValue) }
    }

    // MARK: Copying, archives and comparing

    /// Restores a subscription. From an archive that holds none it makes an empty one, and fails the coder.
    public required init(coder aDecoder: NSCoder) {
        let zoneID = aDecoder.object(of: CKRecordZone.ID.self, forKey: ArchiveKey.zoneID)
        if zoneID == nil { aDecoder.failWithError(CocoaError(.coderReadCorrupt)) }
        zone = zoneID ?? .default
        type = Locked(aDecoder.string(forKey: ArchiveKey.recordType))
        super.init(coder: aDecoder)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(zone, forKey: ArchiveKey.zoneID)
        coder.encode(recordType as NSString?, forKey: ArchiveKey.recordType)
    }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.recordZoneSubscription.archiverClass }

    override func duplicate() -> CKSubscription {
        CKRecordZoneSubscription(zone, subscriptionID, recordType: recordType, notificationInfo: notificationInfo)
    }

    override func hasSameSubject(as other: CKSubscription) -> Bool {
        guard let other = other as? CKRecordZoneSubscription else { return false }
        return zone == other.zone && recordType == other.recordType
    }

    override var subjectDescription: String {
        ", zoneID=\(zone.zoneName):\(zone.ownerName)" + (recordType.map { ", recordType=\($0)" } ?? "")
    }
}
