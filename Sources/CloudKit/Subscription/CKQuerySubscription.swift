public import Foundation
import NephosWire

/// A subscription to the creation, change and deletion of records that match a query (CKQuerySubscription, Apple's
/// documentation). The public and the private database support it.
open class CKQuerySubscription: CKSubscription, @unchecked Sendable {
    /// The kinds of changes to records that cause a notification.
    public struct Options: OptionSet, Hashable, Sendable, BitwiseCopyable {
        public let rawValue: UInt

        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// The service notifies when a record that matches is created, or when a record changes so that it matches.
        public static let firesOnRecordCreation = Options(rawValue: 1 << 0)
        /// The service notifies when a record that matches changes.
        public static let firesOnRecordUpdate = Options(rawValue: 1 << 1)
        /// The service notifies when a record that matches is deleted.
        public static let firesOnRecordDeletion = Options(rawValue: 1 << 2)
        /// The service deletes the subscription after its first notification. This option requires at least one of the
        /// other options.
        public static let firesOnce = Options(rawValue: 1 << 3)
    }

    private static let occasions: Options = [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion]

    /// The query that records must match. Its sort order is ignored.
    let query: CKQuery
    private let options: Options
    private let zone: Locked<CKRecordZone.ID?>

    /// Creates a subscription to records of a type that match a predicate. It covers every zone unless `zoneID` is set.
    ///
    /// Stops the program, as Apple's framework does, unless the options include creation, update or deletion.
    public init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, subscriptionID: CKSubscription.ID,
        options querySubscriptionOptions: CKQuerySubscription.Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        Self.check(querySubscriptionOptions)
        query = CKQuery(recordType: recordType, predicate: predicate)
        options = querySubscriptionOptions
        zone = Locked(nil)
        super.init(subscriptionID, .query)
    }

    /// Creates a subscription to records of a type that match a predicate. Its ID is a new UUID.
    @available(*, deprecated, message: "use init(recordType:predicate:subscriptionID:options:)")
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate,
        options querySubscriptionOptions: CKQuerySubscription.Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(
            recordType: recordType, predicate: predicate, subscriptionID: UUID().uuidString,
            options: querySubscriptionOptions)
    }

    // The class overrides the designated initializers of a subscription, so that it inherits the convenience
    // initializers that apps add to `CKSubscription`.
    override init(_ subscriptionID: ID, _ type: SubscriptionType, _ notificationInfo: NotificationInfo? = nil) {
        raise("CKQuerySubscription has no such initializer.")
    }

    @available(*, unavailable, message: "use init(recordType:predicate:subscriptionID:options:)")
    public override init() {
        raise("CKQuerySubscription has no init(): use init(recordType:predicate:subscriptionID:options:).")
    }

    init(
        _ query: CKQuery, _ subscriptionID: ID, _ options: Options, zoneID: CKRecordZone.ID?,
        notificationInfo: NotificationInfo?
    ) {
        Self.check(options)
        self.query = query
        self.options = options
        zone = Locked(zoneID)
        super.init(subscriptionID, .query, notificationInfo)
    }

    private static func check(_ options: Options) {
        raise(
            unless: !options.isDisjoint(with: occasions),
            """
            CKQuerySubscription: the options have none of firesOnRecordCreation, firesOnRecordUpdate and \
            firesOnRecordDeletion.
            """)
    }

    /// The type of the records whose changes cause a notification.
    open var recordType: CKRecord.RecordType? { query.recordType }

    /// The predicate that a record must match.
    open var predicate: NSPredicate { query.predicate }

    /// The ID of the zone that the subscription covers; nil means every zone of the database.
    open var zoneID: CKRecordZone.ID? {
        get { zone.withLock { $0 } }
        set { zone.exchange(newValue) }
    }

    /// The kinds of changes to records that cause a notification.
    open var querySubscriptionOptions: CKQuerySubscription.Options { options }

    // MARK: Copying, archives and comparing

    /// Restores a subscription from an archive. If the archive contains none, the coder fails, and the subscription is
    /// empty.
    public required init(coder aDecoder: NSCoder) {
        let query = aDecoder.object(of: CKQuery.self, forKey: ArchiveKey.query)
        if query == nil { aDecoder.failWithError(CocoaError(.coderReadCorrupt)) }
        self.query = query ?? CKQuery(recordType: "Unknown", predicate: NSPredicate(value: false))
        options = Options(
            rawValue: UInt(truncatingIfNeeded: aDecoder.decodeInt64(forKey: ArchiveKey.subscriptionOptions)))
        zone = Locked(aDecoder.object(of: CKRecordZone.ID.self, forKey: ArchiveKey.zoneID))
        super.init(coder: aDecoder)
    }

    /// Archives the subscription. Stops the program for a predicate created from a block, which cannot be archived.
    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(query, forKey: ArchiveKey.query)
        coder.encode(Int64(options.rawValue), forKey: ArchiveKey.subscriptionOptions)
        coder.encode(zoneID, forKey: ArchiveKey.zoneID)
    }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.querySubscription.archiverClass }

    override func duplicate() -> CKSubscription {
        CKQuerySubscription(query, subscriptionID, options, zoneID: zoneID, notificationInfo: notificationInfo)
    }

    override func hasSameSubject(as other: CKSubscription) -> Bool {
        guard let other = other as? CKQuerySubscription else { return false }
        return recordType == other.recordType && options == other.options && zoneID == other.zoneID
            && predicate.expression == other.predicate.expression
    }

    override var subjectDescription: String {
        ", recordType=\(query.recordType), predicate=\(PredicatePrinter.describe(predicate.expression)), "
            + "zoneID=\(zoneID?.zoneName ?? "nil"), options=\(options.rawValue)"
    }
}
