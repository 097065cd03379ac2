import NephosWire
import Testing

@testable import CloudKit

/// Subscriptions through the public interface, in process and over HTTP.
@Suite struct SubscriptionConformanceTests {
    private func query(
        _ id: String, _ predicate: NSPredicate = NSPredicate(value: true),
        _ options: CKQuerySubscription.Options = [.firesOnRecordCreation]
    ) -> CKQuerySubscription {
        let subscription = CKQuerySubscription(
            recordType: "Note", predicate: predicate, subscriptionID: id, options: options)
        subscription.notificationInfo = CKSubscription.NotificationInfo(
            alertBody: "new", title: "Notes", desiredKeys: ["text"], shouldBadge: true, collapseIDKey: "text")
        return subscription
    }

    /// Makes the record type and its fields.
    private func makeType(_ database: CKDatabase) async throws {
        let record = note("first")
        record["text"] = "Hello"
        record["stars"] = 3
        record["tags"] = ["a"]
        record["place"] = CLLocation(latitude: 1, longitude: 2)
        record["due"] = Date(timeIntervalSince1970: 1_000)
        try await database.save(record)
    }

    @Test(arguments: Transport.allCases)
    func `a subscription is fetched as it was saved`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            try await makeType(database)
            let zoneID = try await database.zone("Notes")
            let narrow = query(
                "q2", NSPredicate(format: "text BEGINSWITH %@", "A"), [.firesOnRecordUpdate, .firesOnce])
            narrow.zoneID = zoneID
            let zone = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "z")
            let all = CKDatabaseSubscription(subscriptionID: "d")
            all.recordType = "Note"
            all.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            let subscriptions: [CKSubscription] = [query("q1"), narrow, zone, all]
            for subscription in subscriptions {
                #expect(try await database.save(subscription) == subscription)
            }
            for subscription in subscriptions {
                let fetched = try await database.subscription(for: subscription.subscriptionID)
                #expect(type(of: fetched) == type(of: subscription))
                #expect(fetched.subscriptionType == subscription.subscriptionType)
                if fetched is CKQuerySubscription || fetched is CKDatabaseSubscription {
                    // Lists that were not given come back as none or as empty ones.
                    #expect(fetched.notificationInfo?.alertBody == subscription.notificationInfo?.alertBody)
                    #expect(
                        fetched.notificationInfo?.shouldSendContentAvailable
                            == subscription.notificationInfo?.shouldSendContentAvailable)
                }
            }
            let fetched = try #require(try await database.subscription(for: "q2") as? CKQuerySubscription)
            #expect(fetched.hasSameSubject(as: narrow))
            #expect(fetched.notificationInfo?.desiredKeys == ["text"] && fetched.notificationInfo?.shouldBadge == true)
            #expect(fetched.notificationInfo?.title == "Notes" && fetched.notificationInfo?.collapseIDKey == "text")
            #expect((try await database.subscription(for: "z") as? CKRecordZoneSubscription)?.zoneID == zoneID)
            #expect((try await database.subscription(for: "d") as? CKDatabaseSubscription)?.recordType == "Note")
            #expect(try await Set(database.allSubscriptions().map(\.subscriptionID)) == ["q1", "q2", "z", "d"])
        }
    }

    @Test func `a predicate is fetched as an equivalent one`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let database = cloud.database()
            try await makeType(database)
            let place = CLLocation(latitude: 10, longitude: 20)
            let predicates = [
                NSPredicate(value: true), NSPredicate(value: false), NSPredicate(format: "text == %@", "a"),
                NSPredicate(format: "stars != 3"), NSPredicate(format: "stars > 1 AND stars <= 5"),
                NSPredicate(format: "stars BETWEEN {1, 2}"), NSPredicate(format: "text IN %@", ["a", "b"]),
                NSPredicate(format: "NOT (text IN %@)", ["a", "b"]), NSPredicate(format: "text BEGINSWITH %@", "a"),
                NSPredicate(format: "NOT (text BEGINSWITH %@)", "a"), NSPredicate(format: "tags CONTAINS %@", "a"),
                NSPredicate(format: "ANY tags BEGINSWITH %@", "a"), NSPredicate(format: "ANY tags IN %@", ["a"]),
                NSPredicate(format: "self CONTAINS %@", "word"), NSPredicate(format: "due < %@", Date() as NSDate),
                NSPredicate(format: "allTokens TOKENMATCHES[cdl] %@", "two words"),
                NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < 100", place),
                NSPredicate(format: "recordID == %@", CKRecord.ID(recordName: "x")),
                NSPredicate(format: "creationDate > %@", Date(timeIntervalSince1970: 5) as NSDate),
            ]
            for (number, predicate) in predicates.enumerated() {
                let asked = CKQuery(recordType: "Note", predicate: predicate)
                try await database.save(query("p\(number)", predicate))
                let fetched = try #require(try await database.subscription(for: "p\(number)") as? CKQuerySubscription)
                #expect(
                    try fetched.query.wireValue() == asked.wireValue(),
                    "\(PredicatePrinter.describe(predicate.expression))")
            }
        }
    }

    @Test(arguments: Transport.allCases)
    func `saving an ID again replaces the subscription`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            try await makeType(database)
            try await database.save(query("one"))
            try await database.save(query("one", NSPredicate(format: "stars > 2")))
            let all = try await database.allSubscriptions()
            #expect(all.count == 1)
            #expect((all.first as? CKQuerySubscription)?.predicate.expression != .constant(true))
            try await database.deleteSubscription(withID: "one")
            #expect(try await database.allSubscriptions().isEmpty)
        }
    }

    @Test(arguments: Transport.allCases)
    func `an equivalent query subscription replaces the one that is deleted with it`(transport: Transport) async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            try await makeType(database)
            try await database.save(query("old"))
            let results = try await database.modifySubscriptions(saving: [query("new")], deleting: ["old"])
            #expect(throws: Never.self) { try results.saveResults["new"]?.get() }
            #expect(throws: Never.self) { try results.deleteResults["old"]?.get() }
            #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["new"])
        }
    }

    @Test(arguments: Transport.allCases)
    func `each subscription of a batch has its own result`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            try await makeType(database)
            let badPredicate = query("bad", NSPredicate(format: "text LIKE %@", "a*"))
            let results = try await database.modifySubscriptions(
                saving: [query("good"), badPredicate], deleting: ["absent"])
            #expect(throws: Never.self) { try results.saveResults["good"]?.get() }
            #expect(results.saveResults["bad"]?.failureCode == .invalidArguments)
            #expect(results.deleteResults["absent"]?.failureCode == .unknownItem)
            let fetched = try await database.subscriptions(for: ["good", "absent"])
            #expect(throws: Never.self) { try fetched["good"]?.get() }
            #expect(fetched["absent"]?.failureCode == .unknownItem)
            await #expect(throws: CKError.self) { try await database.subscription(for: "absent") }
        }
    }

    @available(*, deprecated)
    @Test func `the older blocks report errors by subscription ID`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let database = cloud.database()
            try await makeType(database)
            let modify = CKModifySubscriptionsOperation(
                subscriptionsToSave: [query("good")], subscriptionIDsToDelete: ["absent"])
            let modified: (saved: [String]?, deleted: [String]?, error: CKError?) = await withCheckedContinuation {
                continuation in
                modify.modifySubscriptionsCompletionBlock = { saved, deleted, error in
                    continuation.resume(returning: (saved?.map(\.subscriptionID), deleted, error as? CKError))
                }
                database.add(modify)
            }
            #expect(modified.saved == ["good"] && modified.deleted == [])
            #expect(modified.error?.code == .partialFailure)
            #expect((modified.error?.partialErrorsByItemID?["absent"] as? CKError)?.code == .unknownItem)

            let fetch = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
            let fetched: [String]? = await withCheckedContinuation { continuation in
                fetch.fetchSubscriptionCompletionBlock = { found, _ in
                    continuation.resume(returning: found.map { Array($0.keys) })
                }
                database.add(fetch)
            }
            #expect(fetched == ["good"])
        }
    }

    @Test(arguments: Transport.allCases)
    func `a subscription of a kind that the database does not support is refused`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let container = cloud.container()
            await expectCode(.badDatabase) {
                try await container.publicCloudDatabase.save(CKDatabaseSubscription(subscriptionID: "d"))
            }
            await expectCode(.badDatabase) {
                try await container.publicCloudDatabase.save(
                    CKRecordZoneSubscription(zoneID: .default, subscriptionID: "z"))
            }
            await expectCode(.notAuthenticated) {
                try await cloud.container(nil).publicCloudDatabase.allSubscriptions()
            }
        }
    }

    private func expectCode<T>(_ code: CKError.Code, _ body: () async throws -> T) async {
        do {
            _ = try await body()
            Issue.record("nothing was thrown")
        } catch {
            #expect((error as? CKError)?.code == code)
        }
    }
}

extension Result where Failure == any Error {
    fileprivate var failureCode: CKError.Code? {
        if case .failure(let error) = self { (error as? CKError)?.code } else { nil }
    }
}
