import CloudKit
import Testing

/// From a change on one device to the notification on another, in process and over HTTP.
@Suite struct NotificationDeliveryTests {
    @Test(.timeLimit(.minutes(15)), arguments: Transport.allCases)
    func `a change is notified to the account's other devices, with the requested fields`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let (here, there) = (cloud.container(), cloud.container())
            let database = there.privateCloudDatabase
            let zoneID = try await database.zone("Notes")
            let first = note("first", in: zoneID)
            first["text"] = "Hello"
            first["stars"] = 5
            first["due"] = Date(timeIntervalSince1970: 1_000)
            try await database.save(first)
            let subscription = CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(format: "stars > 2"), subscriptionID: "notes")
            subscription.notificationInfo = CKSubscription.NotificationInfo(
                alertBody: "A note", desiredKeys: ["text", "stars", "due"])
            try await here.privateCloudDatabase.save(subscription)

            let notifications = try await here.notifications()
            let second = note("second", in: zoneID)
            second["text"] = "Again"
            second["stars"] = 3
            second["due"] = Date(timeIntervalSince1970: 2_000)
            let unseen = note("unseen", in: zoneID)
            unseen["stars"] = 1
            try await database.save(unseen)
            try await database.save(second)
            var iterator = notifications.makeAsyncIterator()
            let creation = await iterator.next() as? CKQueryNotification
            let notification = try #require(creation)
            #expect(notification.recordID == second.recordID)
            #expect(notification.queryNotificationReason == .recordCreated)
            #expect(notification.databaseScope == .private && notification.subscriptionID == "notes")
            #expect(notification.containerIdentifier == here.containerIdentifier)
            #expect(notification.recordFields?["text"] as? String == "Again")
            #expect(notification.recordFields?["stars"] as? Int == 3)
            #expect(notification.recordFields?["due"] as? Date == Date(timeIntervalSince1970: 2_000))
            let user = try await here.userRecordID()
            #expect(notification.subscriptionOwnerUserRecordID?.recordName == user.recordName)

            try await database.deleteRecord(withID: second.recordID)
            let deletion = await iterator.next() as? CKQueryNotification
            #expect(deletion?.queryNotificationReason == .recordDeleted && deletion?.recordID == second.recordID)
            #expect(deletion?.notificationID != notification.notificationID)
        }
    }

    @Test(.timeLimit(.minutes(15)), arguments: Transport.allCases)
    func `zone and database subscriptions notify of the changed zone or database`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let (here, there) = (cloud.container(), cloud.container())
            let zoneID = try await there.privateCloudDatabase.zone("Notes")
            try await here.privateCloudDatabase.save(CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "zone"))
            try await here.privateCloudDatabase.save(CKDatabaseSubscription(subscriptionID: "all"))
            let notifications = try await here.notifications()
            try await there.privateCloudDatabase.save(note("a", in: zoneID))
            var told: [String: CKNotification] = [:]
            for await notification in notifications {
                told[notification.subscriptionID ?? ""] = notification
                if told.count == 2 { break }
            }
            #expect((told["zone"] as? CKRecordZoneNotification)?.recordZoneID == zoneID)
            #expect((told["zone"] as? CKRecordZoneNotification)?.databaseScope == .private)
            #expect((told["all"] as? CKDatabaseNotification)?.databaseScope == .private)
        }
    }

    @Test(.timeLimit(.minutes(15)), arguments: Transport.allCases)
    func `a device is not notified of its own changes`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let (here, there) = (cloud.container(), cloud.container())
            let zoneID = try await here.privateCloudDatabase.zone("Notes")
            let subscription = CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "notes")
            try await here.privateCloudDatabase.save(note("first", in: zoneID))
            try await here.privateCloudDatabase.save(subscription)
            let notifications = try await here.notifications()
            try await here.privateCloudDatabase.save(note("mine", in: zoneID))
            try await there.privateCloudDatabase.save(note("theirs", in: zoneID))
            var iterator = notifications.makeAsyncIterator()
            let notification = await iterator.next() as? CKQueryNotification
            #expect(notification?.recordID?.recordName == "theirs")
        }
    }

    @Test(.timeLimit(.minutes(15))) func `two listeners in one process are both notified of a change`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let (here, there) = (cloud.container(), cloud.container())
            let zoneID = try await there.privateCloudDatabase.zone("Notes")
            try await here.privateCloudDatabase.save(CKDatabaseSubscription(subscriptionID: "all"))
            var one = try await here.notifications().makeAsyncIterator()
            var two = try await here.notifications().makeAsyncIterator()
            try await there.privateCloudDatabase.save(note("a", in: zoneID))
            let (first, second) = (await one.next(), await two.next())
            #expect(first != nil && first?.notificationID == second?.notificationID)
        }
    }

    @Test(.timeLimit(.minutes(15))) func `the sequence ends with the task that reads it`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let notifications = try await cloud.container().notifications()
            let task = Task {
                var count = 0
                for await _ in notifications { count += 1 }
                return count
            }
            task.cancel()
            #expect(await task.value == 0)
        }
    }

    @Test func `without an account there are no notifications`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            await #expect(throws: CKError.self) { _ = try await cloud.container(nil).notifications() }
        }
    }

    @available(*, deprecated)
    @Test(.timeLimit(.minutes(15))) func `the subscription's alert comes with the notification`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let (here, there) = (cloud.container(), cloud.container())
            let first = note("first")
            first["text"] = "Hello"
            try await there.privateCloudDatabase.save(first)
            let subscription = CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "notes")
            subscription.notificationInfo = CKSubscription.NotificationInfo(
                alertLocalizationKey: "NEW_NOTE", alertLocalizationArgs: ["text"], title: "Notes",
                soundName: "default", category: "note")
            try await here.privateCloudDatabase.save(subscription)
            var iterator = try await here.notifications().makeAsyncIterator()
            first["text"] = "Changed"
            try await there.privateCloudDatabase.save(first)
            let next = await iterator.next()
            let notification = try #require(next)
            #expect(notification.alertLocalizationKey == "NEW_NOTE" && notification.title == "Notes")
            #expect(notification.alertLocalizationArgs == ["Changed"] && notification.soundName == "default")
            #expect(notification.category == "note")
            #expect((notification as? CKQueryNotification)?.queryNotificationReason == .recordUpdated)
        }
    }
}
