import Foundation
import NephosWire

// Conversions between `CKSubscription` and its form on the wire.

extension CKSubscription {
    /// Returns the subscription in its form on the wire.
    /// - Throws: `PredicateRefusal` for a part of a query subscription's predicate that queries do not support.
    final func wireValue() throws(PredicateRefusal) -> SubscriptionDictionary {
        var wire = SubscriptionDictionary(
            subscriptionID: subscriptionID, subscriptionType: .database,
            notificationInfo: notificationInfo.map { NotificationInfoDictionary($0.snapshot) })
        switch self {
        case let subscription as CKQuerySubscription:
            wire.subscriptionType = .query
            wire.query = try subscription.query.wireValue()
            let options = subscription.querySubscriptionOptions
            wire.firesOn = Set(CKQuerySubscription.Options.triggers.filter { options.contains($0.0) }.map(\.1))
            wire.firesOnce = options.contains(.firesOnce)
            wire.zoneID = subscription.zoneID?.wireValue
            wire.zoneWide = subscription.zoneID == nil
        case let subscription as CKRecordZoneSubscription:
            wire.subscriptionType = .zone
            wire.zoneID = subscription.zoneID.wireValue
            wire.recordType = subscription.recordType
        case let subscription as CKDatabaseSubscription:
            wire.recordType = subscription.recordType
        default:
            break
        }
        return wire
    }

    /// Creates a subscription from its form on the wire; nil if that lacks a value that the subscription's type
    /// requires.
    static func subscription(
        wire: SubscriptionDictionary, currentUserRecordName: String?
    ) -> CKSubscription? {
        guard let id = wire.subscriptionID else { return nil }
        let info = wire.notificationInfo.map { NotificationInfo(NotificationInfo.Content($0)) }
        let zoneID = wire.zoneID.map { CKRecordZone.ID(wire: $0, currentUserRecordName: currentUserRecordName) }
        switch wire.subscriptionType {
        case .query:
            guard let query = wire.query, !wire.firesOn.isEmpty else { return nil }
            var options = CKQuerySubscription.Options(
                CKQuerySubscription.Options.triggers.filter { wire.firesOn.contains($0.1) }.map(\.0))
            if wire.firesOnce { options.insert(.firesOnce) }
            let predicate = NSPredicate.matching(
                PredicateTree(query, currentUserRecordName: currentUserRecordName))
            return CKQuerySubscription(
                CKQuery(recordType: query.recordType, predicate: predicate), id, options,
                zoneID: wire.zoneWide ? nil : zoneID ?? .default, notificationInfo: info)
        case .zone:
            guard let zoneID else { return nil }
            return CKRecordZoneSubscription(zoneID, id, recordType: wire.recordType, notificationInfo: info)
        case .database:
            return CKDatabaseSubscription(id, recordType: wire.recordType, notificationInfo: info)
        }
    }
}

extension CKQuerySubscription.Options {
    fileprivate static let triggers: [(Self, SubscriptionDictionary.Trigger)] = [
        (.firesOnRecordCreation, .create), (.firesOnRecordUpdate, .update), (.firesOnRecordDeletion, .delete),
    ]
}

extension NotificationInfoDictionary {
    fileprivate init(_ content: CKSubscription.NotificationInfo.Content) {
        self.init()
        alertBody = content.alertBody
        alertLocalizationKey = content.alertLocalizationKey
        alertLocalizationArgs = content.alertLocalizationArgs
        title = content.title
        titleLocalizationKey = content.titleLocalizationKey
        titleLocalizationArgs = content.titleLocalizationArgs
        subtitle = content.subtitle
        subtitleLocalizationKey = content.subtitleLocalizationKey
        subtitleLocalizationArgs = content.subtitleLocalizationArgs
        alertActionLocalizationKey = content.alertActionLocalizationKey
        alertLaunchImage = content.alertLaunchImage
        soundName = content.soundName
        additionalFields = content.desiredKeys
        shouldBadge = content.shouldBadge
        shouldSendContentAvailable = content.shouldSendContentAvailable
        shouldSendMutableContent = content.shouldSendMutableContent
        category = content.category
        collapseIDKey = content.collapseIDKey
    }
}

extension CKSubscription.NotificationInfo.Content {
    fileprivate init(_ wire: NotificationInfoDictionary) {
        self.init(
            alertBody: wire.alertBody, alertLocalizationKey: wire.alertLocalizationKey,
            alertLocalizationArgs: wire.alertLocalizationArgs, title: wire.title,
            titleLocalizationKey: wire.titleLocalizationKey, titleLocalizationArgs: wire.titleLocalizationArgs,
            subtitle: wire.subtitle, subtitleLocalizationKey: wire.subtitleLocalizationKey,
            subtitleLocalizationArgs: wire.subtitleLocalizationArgs,
            alertActionLocalizationKey: wire.alertActionLocalizationKey, alertLaunchImage: wire.alertLaunchImage,
            soundName: wire.soundName, desiredKeys: wire.additionalFields, shouldBadge: wire.shouldBadge,
            shouldSendContentAvailable: wire.shouldSendContentAvailable,
            shouldSendMutableContent: wire.shouldSendMutableContent, category: wire.category,
            collapseIDKey: wire.collapseIDKey)
    }
}
