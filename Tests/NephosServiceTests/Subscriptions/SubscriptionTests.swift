import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// Valid subscriptions, and their life.
struct SubscriptionTests {
    private let cloud = TestCloud()

    /// A database with the type Note, whose field `text` is a string and `secret` is encrypted.
    private func database(_ account: String = "me", _ scope: DatabaseScope = .private) async throws -> TestDatabase {
        let database = TestDatabase(cloud, account, scope)
        if scope != .shared { _ = try await database.modify([.create(nil, ["text": .string("x")])]) }
        return database
    }

    @Test func `a saved subscription is listed and found until it is deleted`() async throws {
        let database = try await database()
        let saved = try #require(try await database.save(.query("S")).subscription)
        #expect(saved == .query("S"))
        #expect(try await database.save(.database("D")).subscription != nil)
        #expect(try await database.subscriptionIDs() == ["D", "S"])
        let request = LookupSubscriptionsRequest(subscriptionIDs: ["S", "X", "D"])
        let found = try await cloud.service.lookupSubscriptions(request, database.context).subscriptions
        #expect(found[0] == .subscription(saved))
        #expect(found[1].error?.serverErrorCode == .notFound && found[1].error?.subscriptionID == "X")
        #expect(found[1].error?.clientErrorCode == ServiceError.ClientCode.unknownItem.rawValue)
        #expect(found[2].subscription?.subscriptionType == .database)

        let deleted = try await database.modify([.delete(subscriptionID: "S"), .delete(subscriptionID: "S")])
        #expect(deleted[0] == .deleted(subscriptionID: "S"))
        #expect(deleted[1].error?.clientErrorCode == ServiceError.ClientCode.unknownItem.rawValue)
        #expect(try await database.subscriptionIDs() == ["D"])
    }

    @Test func `a type that another server has made since is found`() async throws {
        let database = try await database()
        _ = try await database.save(.query("S"))
        let store = try #require(cloud.service.openStores.first)
        try await store.engine.write { transaction in
            var additions = SchemaAdditions(maker: nil)
            additions.recordTypes.append("Memo")
            try additions.apply(in: transaction)
        }
        var memos = SubscriptionDictionary.query("M")
        memos.query?.recordType = "Memo"
        #expect(try await database.save(memos).subscription?.query?.recordType == "Memo")
        memos.query?.recordType = "Nothing"
        memos.subscriptionID = "N"
        #expect(try await database.save(memos).error?.reason.contains("Nothing") == true)
    }

    @Test func `creating an existing ID returns the existing subscription, and an update replaces it`() async throws {
        let database = try await database()
        _ = try await database.modify([.create(.query("S", [.create]))])
        let again = try await database.modify([.create(.query("S", [.delete]))])[0]
        #expect(again.subscription?.firesOn == [.create])
        let replaced = try await database.save(.query("S", [.delete]))
        #expect(replaced.subscription?.firesOn == [.delete])
        #expect(try await database.save(.database("S")).subscription?.subscriptionType == .database)
        #expect(try await database.subscriptionIDs() == ["S"])
    }

    @Test func `a subscription without an ID gets one`() async throws {
        let database = try await database()
        let id = try await database.modify([.create(.database(nil))])[0].subscription?.subscriptionID
        #expect(id?.isEmpty == false)
        #expect(try await database.subscriptionIDs() == [id])
    }

    @Test func `a duplicate query subscription is refused, a different one is not`() async throws {
        let database = try await database().making(zone: "Z")
        let filter = [Filter(.field("text"), .equals, .string("x"))]
        _ = try await database.save(.query("S", [.create], where: filter))
        let error = try #require(try await database.save(.query("T", [.create], where: filter)).error)
        #expect(error.serverErrorCode == .internalError)
        #expect(error.reason == "could not find subscription we just created")
        #expect(error.clientErrorCode == ServiceError.ClientCode.serverRejectedRequest.rawValue)
        #expect(error.subscriptionID == "T" && error.duplicateOf == "S")
        for (index, other) in [
            SubscriptionDictionary.query("", [.create, .update], where: filter), .query("", [.create]),
            .query("", [.create], where: filter, once: true), .query("", [.create], where: filter, zone: "Z"),
            .query("", [.create], where: filter, zoneWide: true),
        ].enumerated() {
            var other = other
            other.subscriptionID = "other \(index)"
            #expect(try await database.save(other).subscription != nil, "\(other)")
        }
        #expect(try await database.subscriptionIDs().count == 6)
    }

    @Test(
        arguments: [
            (DatabaseScope.public, [true, false, false]), (.private, [true, true, true]),
            (.shared, [false, false, true]),
        ])
    func `each database accepts its kinds of subscription`(scope: DatabaseScope, allowed: [Bool]) async throws {
        _ = try await database().making(zone: "Z")
        let database = try await database("me", scope)
        let kinds = [SubscriptionDictionary.query("Q"), .zone("Z", "Z"), .database("D")]
        for (kind, isAllowed) in zip(kinds, allowed) {
            let result = try await database.save(kind)
            #expect((result.subscription != nil) == isAllowed, "\(kind.subscriptionType)")
            if !isAllowed {
                #expect(result.error?.clientErrorCode == ServiceError.ClientCode.badDatabase.rawValue)
            }
        }
    }

    @Test func `subscriptions belong to an account and a database`() async throws {
        let mine = try await database("me", .public)
        let theirs = try await database("you", .public)
        _ = try await mine.save(.query("S"))
        #expect(try await theirs.subscriptionIDs() == [])
        #expect(try await theirs.save(.query("S")).subscription != nil)
        #expect(try await TestDatabase(cloud).subscriptionIDs() == [])
        let shared = TestDatabase(cloud, "me", .shared)
        _ = try await shared.save(.database("D"))
        #expect(try await shared.subscriptionIDs() == ["D"])
        #expect(try await TestDatabase(cloud, "you", .shared).subscriptionIDs() == [])
        _ = try await theirs.modify([.delete(subscriptionID: "S")])
        #expect(try await mine.subscriptionIDs() == ["S"])
    }

    @Test func `without an account there are no subscriptions`() async throws {
        let nobody = TestDatabase(cloud, nil, .public)
        await #expect(throws: ServiceError.authenticationRequired) { try await nobody.subscriptionIDs() }
        await #expect(throws: ServiceError.authenticationRequired) { try await nobody.save(.query("S")) }
        await #expect(throws: ServiceError.authenticationRequired) {
            _ = try await cloud.service.createToken(TokenRequest(apnsEnvironment: .production), nobody.context)
        }
    }

    @Test(
        arguments: [
            (SubscriptionDictionary.query(""), ServiceError.ClientCode.invalidArguments, "subscriptionID"),
            (.query(String(repeating: "s", count: 256)), .invalidArguments, "subscriptionID"),
            (.query("S", []), .invalidArguments, "firesOn"),
            (.query("S", type: ""), .invalidArguments, "recordType"),
            (.query("S", type: "Unknown"), .unknownItem, "Did not find record type: Unknown"),
            (.query("S", type: "Users"), .invalidArguments, "Users"),
            (.query("S", where: [Filter(.field("none"), .equals, .string("x"))]), .invalidArguments, "'none'"),
            (.query("S", where: [Filter(.field("text"), .equals, .int64(1))]), .invalidArguments, "'text'"),
            (
                .query("S", zone: "None"), .zoneNotFound,
                "'None' does not exist: save the zone before the subscription to it"
            ),
            (.query("S", zone: "Z", zoneWide: true), .invalidArguments, "zoneWide"),
            (
                SubscriptionDictionary(subscriptionID: "S", subscriptionType: .query, firesOn: [.create]),
                .invalidArguments, "query"
            ),
            (.zone("S", "None"), .zoneNotFound, "save the zone before the subscription to it"),
            (.zone("S", "_defaultZone"), .invalidArguments, "default zone"),
            (SubscriptionDictionary(subscriptionID: "S", subscriptionType: .zone), .invalidArguments, "zoneID"),
            (.query("S", info: .fields(["a", "b", "c", "d"])), .invalidArguments, "additionalFields"),
            (
                SubscriptionDictionary(
                    subscriptionID: "S", subscriptionType: .zone, zoneID: ZoneIDDictionary(zoneName: "Z"),
                    notificationInfo: .fields(["a"])), .invalidArguments, "additionalFields"
            ),
            (.query("S", info: .text(String(repeating: "x", count: 70_000))), .limitExceeded, "bytes"),
        ])
    func `an invalid subscription is refused with its reason, and changes nothing`(
        _ subscription: SubscriptionDictionary, _ code: ServiceError.ClientCode, _ mention: String
    ) async throws {
        let database = try await database().making(zone: "Z")
        let error = try #require(try await database.save(subscription).error)
        #expect(error.clientErrorCode == code.rawValue)
        #expect(error.reason.contains(mention), "\(error.reason)")
        #expect(error.subscriptionID == subscription.subscriptionID)
        #expect(try await database.subscriptionIDs() == [])
    }

    @Test func `the size of an account's subscriptions in a database is limited`() async throws {
        let database = try await database()
        func subscription(_ number: Int) -> SubscriptionDictionary {
            let text = "\(number) " + String(repeating: "x", count: 60_000)
            return .query("S\(number)", where: [Filter(.field("text"), .equals, .string(text))])
        }
        let fitting = Limits.subscriptionsSize / 61_000
        let saved = try await database.modify((0..<fitting).map { .update(subscription($0)) })
        #expect(saved.allSatisfy { $0.error == nil })
        let errors = try await database.modify([.update(subscription(fitting)), .update(subscription(fitting + 1))])
        #expect(errors.allSatisfy { $0.error == nil || $0.error?.reason.contains("would have") == true })
        #expect(errors.last?.error?.clientErrorCode == ServiceError.ClientCode.limitExceeded.rawValue)
        // One that replaces another, and one after a deletion, fit.
        #expect(try await database.save(subscription(3)).error == nil)
        _ = try await database.modify([.delete(subscriptionID: "S0"), .delete(subscriptionID: "S1")])
        #expect(try await database.save(subscription(fitting + 1)).error == nil)
    }

    @Test func `a localized text has at most 32 arguments`() async throws {
        let database = try await database()
        var subscription = SubscriptionDictionary.query("S")
        subscription.notificationInfo = NotificationInfoDictionary()
        subscription.notificationInfo?.alertLocalizationKey = "KEY"
        subscription.notificationInfo?.titleLocalizationArgs = Array(repeating: "text", count: 33)
        let error = try #require(try await database.save(subscription).error)
        #expect(error.reason == "a localized text of the notification has 33 arguments; at most 32 are allowed")
        subscription.notificationInfo?.titleLocalizationArgs = Array(repeating: "text", count: 32)
        #expect(try await database.save(subscription).error == nil)
    }

    @Test func `one operation's refusal does not affect the others`() async throws {
        let database = try await database()
        let results = try await database.modify([.update(.query("")), .update(.query("S"))])
        #expect(results[0].error != nil && results[1].subscription != nil)
        #expect(try await database.subscriptionIDs() == ["S"])
    }

    @Test func `deleting a zone deletes its subscriptions`() async throws {
        let database = try await database().making(zone: "Z")
        _ = try await database.modify([
            .update(.zone("zone", "Z")), .update(.query("query", zone: "Z")), .update(.query("wide", zoneWide: true)),
            .update(.database("database")),
        ])
        _ = try await cloud.service.modifyZones(
            ModifyZonesRequest(operations: [
                ZoneOperation(operationType: .delete, zoneID: ZoneIDDictionary(zoneName: "Z"))
            ]), database.context)
        #expect(try await database.subscriptionIDs() == ["database", "wide"])
    }

    @Test func `a subscription names its zone's owner`() async throws {
        let database = try await database().making(zone: "Z")
        let user = try await cloud.service.currentUser(database.context).userRecordName
        let saved = try await database.save(.zone("S", "Z")).subscription
        #expect(saved?.zoneID == ZoneIDDictionary(zoneName: "Z", ownerRecordName: user))
    }

    @Test func `more operations than the limit are refused`() async throws {
        let database = try await database()
        let operations = Array(repeating: SubscriptionOperation.delete(subscriptionID: "x"), count: 401)
        await #expect { _ = try await database.modify(operations) } throws: {
            ($0 as? ServiceError)?.clientCode == .limitExceeded
        }
    }
}

extension NotificationInfoDictionary {
    static func fields(_ names: [String]) -> NotificationInfoDictionary {
        var info = NotificationInfoDictionary()
        info.additionalFields = names
        return info
    }

    static func text(_ body: String) -> NotificationInfoDictionary {
        var info = NotificationInfoDictionary()
        info.alertBody = body
        return info
    }
}
