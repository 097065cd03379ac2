/// An account's subscription to changes in a database (CloudKit Web Services, Subscription Dictionary).
package struct SubscriptionDictionary: Hashable, Sendable {
    package enum SubscriptionType: String, Hashable, Sendable, CaseIterable {
        case query
        case zone
        case database
    }

    /// The event that triggers a notification. The raw value is the event's name on the wire.
    package enum Trigger: String, Hashable, Sendable, CaseIterable {
        case create
        case update
        case delete
    }

    /// The subscription's ID, unique among the account's subscriptions in the database; nil if the service chooses one.
    package var subscriptionID: String?
    package var subscriptionType: SubscriptionType
    /// The query of a query subscription, whose sort order is ignored; nil for other subscriptions.
    package var query: Query?
    /// The triggers of a query subscription, at least one; empty for other subscriptions.
    package var firesOn: Set<Trigger>
    /// Whether a query subscription is deleted with its first notification.
    package var firesOnce: Bool
    /// The zone of a zone subscription, or of a query subscription to one zone.
    package var zoneID: ZoneIDDictionary?
    /// Whether a query subscription covers every zone of the database. If not, it covers `zoneID`, or the default zone
    /// if that is nil.
    package var zoneWide: Bool
    /// Our addition, `recordType` on the wire: the type of records to which a zone or database subscription is
    /// restricted; nil for all types.
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

/// A notification's alert and content (CloudKit Web Services, Notification Info Dictionary;
/// `CKSubscription.NotificationInfo`, Apple's documentation).
///
/// The names of titles, subtitles, `shouldSendMutableContent` and `collapseIDKey` on the wire are ours: Apple's Web
/// Services do not document them.
package struct NotificationInfoDictionary: Hashable, Sendable {
    package var alertBody: String?
    package var alertLocalizationKey: String?
    /// The names of the fields whose values are the arguments of the localized text.
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
    /// The names of the fields whose values the notification contains: `CKSubscription.NotificationInfo.desiredKeys`,
    /// `additionalFields` on the wire.
    package var additionalFields: [String]?
    package var shouldBadge = false
    package var shouldSendContentAvailable = false
    package var shouldSendMutableContent = false
    package var category: String?
    package var collapseIDKey: String?

    package init() {}
}
