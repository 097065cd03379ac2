/// A notification in the form of Apple's push service, from which a `CKNotification` is created (CloudKit Web Services,
/// push payload).
package struct NotificationPayload: Hashable, Sendable {
    /// A text, or a localization key with the arguments of the localized text.
    package struct Text: Hashable, Sendable {
        package var text: String?
        package var localizationKey: String?
        package var localizationArgs: [String]?

        package init(text: String? = nil, localizationKey: String? = nil, localizationArgs: [String]? = nil) {
            self.text = text
            self.localizationKey = localizationKey
            self.localizationArgs = localizationArgs
        }

        var isEmpty: Bool { text == nil && localizationKey == nil && localizationArgs == nil }
    }

    /// The scope of a database: `dbs` on the wire, where it is the raw value.
    package enum DatabaseScope: Int, Hashable, Sendable {
        case `public` = 0
        case `private` = 1
        case shared = 2
    }

    /// The change that triggered a query notification: `fo` on the wire, where it is the raw value.
    /// `CKQueryNotification.Reason` has the same raw values.
    package enum Reason: Int, Hashable, Sendable {
        case recordCreated = 1
        case recordUpdated = 2
        case recordDeleted = 3
    }

    package enum Kind: Hashable, Sendable {
        /// A notification of a query subscription. `recordName` is nil if it was pruned. `fields` are the additional
        /// fields, by name.
        case query(recordName: String?, reason: Reason?, fields: [String: FieldValue])
        case zone
        case database
    }

    // MARK: aps

    package var alert = Text()
    package var title = Text()
    package var subtitle = Text()
    package var alertActionLocalizationKey: String?
    package var alertLaunchImage: String?
    package var badge: Int?
    package var soundName: String?
    package var category: String?
    package var isContentAvailable = false
    package var isMutableContent = false

    // MARK: ck

    package var notificationID: String?
    package var containerIdentifier: String?
    /// The user record name of the subscription's owner.
    package var userRecordName: String?
    package var subscriptionID: String?
    package var databaseScope: DatabaseScope
    package var zoneID: ZoneIDDictionary?
    package var kind: Kind
    /// Whether the service omitted members to limit the notification's size.
    package var isPruned = false

    package init(
        _ kind: Kind, notificationID: String?, containerIdentifier: String?, userRecordName: String?,
        subscriptionID: String?, databaseScope: DatabaseScope, zoneID: ZoneIDDictionary?
    ) {
        self.kind = kind
        self.notificationID = notificationID
        self.containerIdentifier = containerIdentifier
        self.userRecordName = userRecordName
        self.subscriptionID = subscriptionID
        self.databaseScope = databaseScope
        self.zoneID = zoneID
    }

    /// Whether the notification shows nothing and plays no sound.
    package var isSilent: Bool {
        alert.isEmpty && title.isEmpty && subtitle.isEmpty && badge == nil && soundName == nil
    }
}

extension NotificationPayload {
    /// Returns the payload's JSON in at most `limit` bytes. Omits the least important members until the JSON fits, in
    /// the order that `CKNotification` documents. Never omits the notification's ID, because its receipt needs the ID.
    package func pruned(to limit: Int) -> [UInt8] {
        var body = encoded()
        if body.count <= limit { return body }
        var payload = self
        payload.isPruned = true
        for prune in Self.pruning {
            prune(&payload)
            body = payload.encoded()
            if body.count <= limit { break }
        }
        return body
    }

    private static let pruning: [@Sendable (inout NotificationPayload) -> Void] = [
        { $0.badge = nil },
        { $0.alert.localizationKey = nil },
        { $0.alert.localizationArgs = nil },
        { $0.alert.text = nil },
        { $0.alertActionLocalizationKey = nil },
        { $0.alertLaunchImage = nil },
        { $0.soundName = nil },
        // Without an alert, only `isContentAvailable` makes an app receive the notification.
        { $0.isContentAvailable = true },
        { payload in
            guard case .query(let recordName, let reason, _) = payload.kind else { return }
            payload.kind = .query(recordName: recordName, reason: reason, fields: [:])
        },
        { payload in
            payload.title = Text()
            payload.subtitle = Text()
            payload.category = nil
        },
        { payload in
            guard case .query(_, let reason, _) = payload.kind else { return }
            payload.kind = .query(recordName: nil, reason: reason, fields: [:])
        },
    ]
}
