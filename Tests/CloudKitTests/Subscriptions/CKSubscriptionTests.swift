import CloudKit
import Testing

@Suite struct SubscriptionTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Lists")

    @Test func `a query subscription fires on every change by default`() {
        let subscription = CKQuerySubscription(
            recordType: "Item", predicate: NSPredicate(format: "done = %@", NSNumber(value: false)),
            subscriptionID: "items")
        #expect(subscription.subscriptionID == "items")
        #expect(subscription.subscriptionType == .query)
        #expect(subscription.recordType == "Item")
        #expect(subscription.zoneID == nil)
        #expect(subscription.notificationInfo == nil)
        #expect(
            subscription.querySubscriptionOptions
                == [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion])
        #expect(subscription.querySubscriptionOptions.rawValue == 7)
        #expect(CKQuerySubscription.Options.firesOnce.rawValue == 8)
        subscription.zoneID = zoneID
        #expect(subscription.zoneID == zoneID)
    }

    @Test func `a query subscription that fires on nothing stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CKQuerySubscription(
                recordType: "Item", predicate: NSPredicate(value: true), subscriptionID: "items", options: [.firesOnce])
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("the options have none of firesOnRecordCreation"))
    }

    @Test func `zone and database subscriptions narrow to a record type`() {
        let zone = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "zone")
        #expect(zone.subscriptionType == .recordZone && zone.zoneID == zoneID && zone.recordType == nil)
        zone.recordType = "Item"
        #expect(zone.recordType == "Item")
        let database = CKDatabaseSubscription(subscriptionID: "all")
        #expect(database.subscriptionType == .database && database.recordType == nil)
        database.recordType = "Item"
        #expect(database.recordType == "Item")
    }

    @available(*, deprecated)
    @Test func `the older initializers give each subscription its own ID`() {
        let ids = [
            CKQuerySubscription(recordType: "Item", predicate: NSPredicate(value: true)).subscriptionID,
            CKQuerySubscription(
                recordType: "Item", predicate: NSPredicate(value: true), options: .firesOnRecordCreation
            ).subscriptionID,
            CKRecordZoneSubscription(zoneID: zoneID).subscriptionID,
            CKRecordZoneSubscription(zoneID: zoneID).subscriptionID,
            CKDatabaseSubscription().subscriptionID,
            CKDatabaseSubscription().subscriptionID,
        ]
        #expect(Set(ids).count == ids.count)
        for id in ids { #expect(UUID(uuidString: id) != nil) }
        let info: CKNotificationInfo = CKNotificationInfo()
        let options: CKSubscriptionOptions = .firesOnce
        let modern: CKSubscription.NotificationInfo = info
        #expect(modern.alertBody == nil && options == CKQuerySubscriptionOptions.firesOnce)
    }

    @Test func `notification info is empty by default`() {
        let info = CKSubscription.NotificationInfo()
        #expect(info.alertBody == nil && info.title == nil && info.soundName == nil && info.category == nil)
        #expect(info.desiredKeys == nil && info.alertLocalizationArgs == nil && info.collapseIDKey == nil)
        #expect(!info.shouldBadge && !info.shouldSendContentAvailable && !info.shouldSendMutableContent)
    }

    @Test func `notification info takes all properties at once, and omitted ones are empty`() {
        let info = CKSubscription.NotificationInfo(
            alertBody: "body", title: "title", soundName: "default", desiredKeys: ["a", "b"],
            shouldSendContentAvailable: true)
        #expect(info.alertBody == "body" && info.title == "title" && info.soundName == "default")
        #expect(info.desiredKeys == ["a", "b"] && info.alertLocalizationArgs == [] && info.subtitle == nil)
        #expect(info.shouldSendContentAvailable && !info.shouldBadge)
    }

    @Test func `a subscription's notification info is changed in place`() throws {
        let subscription = CKDatabaseSubscription(subscriptionID: "all")
        subscription.notificationInfo = CKSubscription.NotificationInfo()
        subscription.notificationInfo?.shouldSendContentAvailable = true
        subscription.notificationInfo?.alertBody = "Test"
        #expect(subscription.notificationInfo?.shouldSendContentAvailable == true)
        let info = try #require(subscription.notificationInfo)
        info.title = "title"
        let copy = try #require(subscription.copy() as? CKDatabaseSubscription)
        info.alertBody = "later"
        #expect(subscription.notificationInfo?.title == "title" && subscription.notificationInfo === info)
        #expect(copy.notificationInfo?.alertBody == "Test" && copy.notificationInfo?.title == "title")
    }

    @Test func `a subscription keeps a copy of its notification info`() {
        let subscription = CKDatabaseSubscription(subscriptionID: "all")
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        info.alertBody = "later"
        #expect(subscription.notificationInfo?.shouldSendContentAvailable == true)
        #expect(subscription.notificationInfo?.alertBody == nil)
        #expect(subscription.notificationInfo != info)
    }

    @Test func `a copy is equal and independent`() throws {
        let subscription = CKQuerySubscription(
            recordType: "Item", predicate: NSPredicate(format: "stars > 3"), subscriptionID: "items",
            options: [.firesOnRecordUpdate, .firesOnce])
        subscription.zoneID = zoneID
        subscription.notificationInfo = CKSubscription.NotificationInfo(alertBody: "new")
        let copy = try #require(subscription.copy() as? CKQuerySubscription)
        #expect(copy == subscription && copy.hash == subscription.hash && copy !== subscription)
        copy.zoneID = nil
        #expect(copy != subscription && subscription.zoneID == zoneID)
        copy.zoneID = zoneID
        let info = copy.notificationInfo
        info?.alertBody = "other"
        copy.notificationInfo = info
        #expect(copy != subscription && subscription.notificationInfo?.alertBody == "new")
        let other = CKQuerySubscription(
            recordType: "Item", predicate: NSPredicate(format: "stars > 4"), subscriptionID: "items",
            options: [.firesOnRecordUpdate, .firesOnce])
        other.zoneID = zoneID
        other.notificationInfo = subscription.notificationInfo
        #expect(other != subscription)
    }
}
