/// What an account wants to be told of in a database (CloudKit Web Services, Subscription Dictionary).
package struct SubscriptionDictionary: Hashable, Sendable {
    package enum SubscriptionType: String, Hashable, Sendable, CaseIterable {
        case query
        case zone
        case database
    }

    /// What has to happen to a record; the raw value is the name on the wire.
    package enum Trigger: String, Hashable, Sendable, CaseIterable {
        case create
        case update
        case delete
    }

    /// Unique in the database for its account; nil where the service is to choose one.
    package var subscriptionID: String?
    package var subscriptionType: SubscriptionType
    /// Which records, of a query subscription. Its order does not matter.
    package var query: Query?
    /// Of a query subscription: at least one.
    package var firesOn: Set<Trigger>
    /// Of a query subscription: it is deleted with its first notification.
    package var firesOnce: Bool
    /// The zone of a zone subscription, or of a query subscription that looks at one zone.
    package var zoneID: ZoneIDDictionary?
    /// Of a query subscription: every zone of the database; otherwise `zoneID`, or the default zone.
    package var zoneWide: Bool
    /// Our addition, `recordType` on the wire: narrows a zone or database subscription to records of one type.
    package var recordType: String?
    package var notificationInfo: NotificationInfoDictionary?

    package init(
        subscriptionID: String?, subscriptionType: SubscriptionType, query: Query? = nil, firesOn: Set<Trigger> = [],
        firesOnce: Bool = false, zoneID: ZoneIDDictionary? = nil, zoneWide: Bool = false, recordType: String? = nil,
        notificationInfo: NotificationInfoDictionary? = nil
    ) {
        self.subscriptionID = subscriptionID
        self.subscriptionType = subscriptionType
        self.query = query
        self.firesOn = firesOn
        self.firesOnce = firesOnce
        self.zoneID = zoneID
        self.zoneWide = zoneWide
        self.recordType = recordType
        self.notificationInfo = notificationInfo
    }
}

/// What a notification shows and carries (CloudKit Web Services, Notification Info Dictionary;
/// `CKSubscription.NotificationInfo`, Apple's documentation).
///
/// The names of titles, subtitles, `shouldSendMutableContent` and `collapseIDKey` on the wire are ours: Apple's Web
/// Services do not document them.
package struct NotificationInfoDictionary: Hashable, Sendable {
    package var alertBody: String?
    package var alertLocalizationKey: String?
    /// Names of fields whose values fill the localized text.
    package var alertLocalizationArgs: [String]?
    package var title: String?
    package var titleLocalizationKey: String?
    package var titleLocalizationArgs: [String]?
    package var subtitle: String?
    package var subtitleLocalizationKey: String?
    package var subtitleLocalizationArgs: [String]?
    package var alertActionLocalizationKey: String?
    package var alertLaunchImage: String?
    package var soundName: String?
    /// Names of the fields that are sent along: `CKSubscription.NotificationInfo.desiredKeys`, `additionalFields` on the
    /// wire.
    package var additionalFields: [String]?
    package var shouldBadge = false
    package var shouldSendContentAvailable = false
    package var shouldSendMutableContent = false
    package var category: String?
    package var collapseIDKey: String?

    package init() {}
}
