public import Foundation

/// A subscription to every change in a record zone (CKRecordZoneSubscription, Apple's documentation). The private
/// database supports it, in zones with the capability `fetchChanges`: all zones except the default zone.
open class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
    private let zone: CKRecordZone.ID
    private let type: Locked<CKRecord.RecordType?>

    /// Creates a subscription to changes in a zone.
    public init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        zone = zoneID
        type = Locked(nil)
        super.init(subscriptionID, .recordZone)
    }

    /// Creates a subscription to changes in a zone. Its ID is a new UUID.
    @available(*, deprecated, message: "use init(zoneID:subscriptionID:)")
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: UUID().uuidString)
    }

    // The class overrides the designated initializers of a subscription, so that it inherits the convenience
    // initializers that apps add to `CKSubscription`.
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

    /// The ID of the zone whose changes cause a notification.
    open var zoneID: CKRecordZone.ID { zone }

    /// The type of the records whose changes cause a notification; nil means every type.
    open var recordType: CKRecord.RecordType? {
        get { type.withLock { $0 } }
        set { type.exchange(newValue) }
    }

    // MARK: Copying, archives and comparing

    /// Restores a subscription from an archive. If the archive contains none, the coder fails, and the subscription is
    /// empty.
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
