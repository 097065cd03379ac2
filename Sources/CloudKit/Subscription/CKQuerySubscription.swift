public import Foundation
import NephosWire

/// Tells of records that match a query when they are created, changed or deleted (CKQuerySubscription, Apple's
/// documentation). For the public and the private database.
open class CKQuerySubscription: CKSubscription, @unchecked Sendable {
    /// What has to happen to a record.
    public struct Options: OptionSet, Hashable, Sendable, BitwiseCopyable {
        public let rawValue: UInt

        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// A record is created, or changes so that it matches.
        public static let firesOnRecordCreation = Options(rawValue: 1 << 0)
        /// A record that matches changes.
        public static let firesOnRecordUpdate = Options(rawValue: 1 << 1)
        /// A record that matches is deleted.
        public static let firesOnRecordDeletion = Options(rawValue: 1 << 2)
        /// The service deletes the subscription after its first notification; beside at least one of the others.
        public static let firesOnce = Options(rawValue: 1 << 3)
    }

    private static let occasions: Options = [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion]

    /// What is looked for; its order has no meaning here.
    let query: CKQuery
    private let options: Options
    private let zone: Locked<CKRecordZone.ID?>

    /// Tells of records of a type that match a predicate, in every zone unless `zoneID` is set.
    ///
    /// Stops the program, as Apple's framework does, unless the options have one of creation, update and deletion.
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

    /// Tells of records of a type that match a predicate. The subscription gets a UUID as its ID, and so another one
    /// each time.
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

    // The designated initializers of a subscription are overridden, so that the convenience initializers are inherited
    // which apps add to it.
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

    /// Of which type the records are whose changes notify.
    open var recordType: CKRecord.RecordType? { query.recordType }

    /// The condition that the records match.
    open var predicate: NSPredicate { query.predicate }

    /// The zone that the records are in; nil is every zone of the database.
    open var zoneID: CKRecordZone.ID? {
        get { zone.withLock { $0 } }
        set { zone.exchange(newValue) }
    }

    /// What has to happen to a record.
    open var querySubscriptionOptions: CKQuerySubscription.Options { options }

    // MARK: Copying, archives and comparing

    /// Restores a subscription. From an archive that holds none it makes an empty one, and fails the coder.
    public required init(coder aDecoder: NSCoder) {
        let query = aDecoder.object(of: CKQuery.self, forKey: ArchiveKey.query)
        if query == nil { aDecoder.failWithError(CocoaError(.coderReadCorrupt)) }
        self.query = query ?? CKQuery(recordType: "Unknown", predicate: NSPredicate(value: false))
        options = Options(
            rawValue: UInt(truncatingIfNeeded: aDecoder.decodeInt64(forKey: ArchiveKey.subscriptionOptions)))
        zone = Locked(aDecoder.object(of: CKRecordZone.ID.self, forKey: ArchiveKey.zoneID))
        super.init(coder: aDecoder)
    }

    /// Writes the subscription; a predicate made from a block has no form in an archive and stops the program.
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
