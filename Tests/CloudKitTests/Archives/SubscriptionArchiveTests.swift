import CloudKit
import Testing

@Suite struct SubscriptionArchiveTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Lists", ownerName: "_0123456789abcdef0123456789abcdef")

    private func restored<Object: NSObject & NSSecureCoding>(_ object: Object) throws -> Object? {
        let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
        return try NSKeyedUnarchiver.unarchivedObject(ofClass: Object.self, from: data)
    }

    private func classes(in data: Data) throws -> [[String]] {
        let plist = try PropertyListSerialization.propertyList(from: data, format: nil)
        let objects = try #require((plist as? [String: Any])?["$objects"] as? [Any])
        return objects.compactMap { ($0 as? [String: Any])?["$classes"] as? [String] }
    }

    private var everything: CKSubscription.NotificationInfo {
        CKSubscription.NotificationInfo(
            alertBody: "1", alertLocalizationKey: "2", alertLocalizationArgs: ["3"], title: "4",
            titleLocalizationKey: "5", titleLocalizationArgs: ["6", "7"], subtitle: "8", subtitleLocalizationKey: "9",
            subtitleLocalizationArgs: [], alertActionLocalizationKey: "10", alertLaunchImage: "11", soundName: "12",
            desiredKeys: ["13"], shouldBadge: true, shouldSendContentAvailable: true, shouldSendMutableContent: true,
            category: "14", collapseIDKey: "15")
    }

    @Test func `notification info survives an archive with all its properties`() throws {
        #expect(try restored(everything) == everything)
        let empty = CKSubscription.NotificationInfo()
        let back = try #require(try restored(empty))
        #expect(back == empty && back.desiredKeys == nil)
    }

    @Test func `a query subscription survives an archive, predicate included`() throws {
        let subscription = CKQuerySubscription(
            recordType: "Item",
            predicate: NSPredicate(format: "stars > %d AND title BEGINSWITH %@", 3, "A"), subscriptionID: "items",
            options: [.firesOnRecordCreation, .firesOnce])
        subscription.zoneID = zoneID
        subscription.notificationInfo = everything
        let back = try #require(try restored(subscription))
        #expect(back == subscription)
        #expect(back.querySubscriptionOptions == [.firesOnRecordCreation, .firesOnce])
        #expect(back.notificationInfo == everything && back.zoneID == zoneID)
    }

    @Test func `zone and database subscriptions survive an archive`() throws {
        let zone = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "zone")
        zone.recordType = "Item"
        #expect(try restored(zone) == zone)
        let database = CKDatabaseSubscription(subscriptionID: "all")
        database.notificationInfo = everything
        #expect(try restored(database) == database)
    }

    @Test func `a subscription is decoded as its own class through the base class`() throws {
        let subscriptions: [CKSubscription] = [
            CKQuerySubscription(recordType: "Item", predicate: NSPredicate(value: true), subscriptionID: "q"),
            CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "z"), CKDatabaseSubscription(subscriptionID: "d"),
        ]
        for subscription in subscriptions {
            let data = try NSKeyedArchiver.archivedData(withRootObject: subscription, requiringSecureCoding: true)
            let back = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKSubscription.self, from: data)
            #expect(back == subscription)
            #expect(back.map { type(of: $0) == type(of: subscription) } == true)
        }
    }

    @Test func `archives carry Apple's names of the classes`() throws {
        let subscription = CKQuerySubscription(
            recordType: "Item", predicate: NSPredicate(value: true), subscriptionID: "q")
        subscription.notificationInfo = everything
        let objects = NSArray(array: [
            subscription, CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "z"),
            CKDatabaseSubscription(subscriptionID: "d"),
        ])
        let data = try NSKeyedArchiver.archivedData(withRootObject: objects, requiringSecureCoding: true)
        let names = try Set(classes(in: data))
        for chain in [
            ["CKQuerySubscription", "CKSubscription", "NSObject"],
            ["CKRecordZoneSubscription", "CKSubscription", "NSObject"],
            ["CKDatabaseSubscription", "CKSubscription", "NSObject"], ["CKNotificationInfo", "NSObject"],
        ] {
            #expect(names.contains(chain), "\(chain)")
        }
        #expect(!names.contains { $0[0].contains("CloudKit.") })
    }
}
