import NephosWire
import Testing

/// Subscriptions and push tokens, read from JSON and written to it.
struct SubscriptionJSONTests {
    @Test func `a query subscription carries every option of a client`() throws {
        let request = try ModifySubscriptionsRequest(
            decoding: bytes(
                """
                {"operations":[{"operationType":"create","subscription":{"subscriptionID":"S","subscriptionType":"query",
                  "query":{"recordType":"Artwork","filterBy":[{"comparator":"EQUALS","fieldName":"year",
                  "fieldValue":{"value":1932,"type":"INT64"}}]},"firesOn":["update","create","create"],"firesOnce":true,
                  "zoneID":{"zoneName":"Gallery"},"zoneWide":false,"somethingNew":1,
                  "notificationInfo":{"alertBody":"New","alertLocalizationKey":"K","alertLocalizationArgs":["a","b"],
                    "title":"T","titleLocalizationKey":"TK","titleLocalizationArgs":["t"],"subtitle":"S",
                    "subtitleLocalizationKey":"SK","subtitleLocalizationArgs":["s"],"alertActionLocalizationKey":"A",
                    "alertLaunchImage":"L.png","soundName":"default","shouldBadge":true,
                    "shouldSendContentAvailable":true,"shouldSendMutableContent":true,"additionalFields":["title"],
                    "category":"C","collapseIDKey":"title"}}}]}
                """))
        guard case .create(let subscription)? = request.operations.first else {
            Issue.record("no create: \(request)")
            return
        }
        var info = NotificationInfoDictionary()
        info.alertBody = "New"
        info.alertLocalizationKey = "K"
        info.alertLocalizationArgs = ["a", "b"]
        info.title = "T"
        info.titleLocalizationKey = "TK"
        info.titleLocalizationArgs = ["t"]
        info.subtitle = "S"
        info.subtitleLocalizationKey = "SK"
        info.subtitleLocalizationArgs = ["s"]
        info.alertActionLocalizationKey = "A"
        info.alertLaunchImage = "L.png"
        info.soundName = "default"
        info.shouldBadge = true
        info.shouldSendContentAvailable = true
        info.shouldSendMutableContent = true
        info.additionalFields = ["title"]
        info.category = "C"
        info.collapseIDKey = "title"
        #expect(
            subscription
                == SubscriptionDictionary(
                    subscriptionID: "S", subscriptionType: .query,
                    query: Query(
                        recordType: "Artwork", filterBy: [Filter(.field("year"), .equals, .int64(1932))]),
                    firesOn: [.create, .update], firesOnce: true, zoneID: ZoneIDDictionary(zoneName: "Gallery"),
                    notificationInfo: info))
        #expect(try SubscriptionDictionary(decoding: subscription.encoded()) == subscription)
    }

    @Test func `every operation round-trips`() throws {
        let zone = SubscriptionDictionary(
            subscriptionID: nil, subscriptionType: .zone, zoneID: ZoneIDDictionary(zoneName: "Z"), recordType: "Note")
        let database = SubscriptionDictionary(subscriptionID: "D", subscriptionType: .database)
        let wide = SubscriptionDictionary(
            subscriptionID: "Q", subscriptionType: .query, query: Query(recordType: "Note"), firesOn: [.delete],
            zoneWide: true)
        let request = ModifySubscriptionsRequest(
            operations: [.create(zone), .update(database), .update(wide), .delete(subscriptionID: "S")])
        #expect(try ModifySubscriptionsRequest(decoding: request.encoded()) == request)
    }

    @Test func `firesOn is written in one order, and for query subscriptions alone`() {
        let query = SubscriptionDictionary(
            subscriptionID: "Q", subscriptionType: .query, query: Query(recordType: "N"), firesOn: [.delete, .create])
        #expect(
            text(query.encoded())
                == #"{"subscriptionID":"Q","subscriptionType":"query","query":{"recordType":"N"},"#
                + #""firesOn":["create","delete"],"firesOnce":false}"#)
        let zone = SubscriptionDictionary(
            subscriptionID: "Z", subscriptionType: .zone, zoneID: ZoneIDDictionary(zoneName: "A", ownerRecordName: "_o")
        )
        #expect(
            text(zone.encoded())
                == #"{"subscriptionID":"Z","subscriptionType":"zone","zoneID":{"zoneName":"A","#
                + #""ownerRecordName":"_o","zoneType":"REGULAR_CUSTOM_ZONE"}}"#)
    }

    @Test func `an answer has subscriptions, bare IDs of deleted ones, and errors`() throws {
        let response = SubscriptionsResponse(
            subscriptions: [
                .subscription(SubscriptionDictionary(subscriptionID: "D", subscriptionType: .database)),
                .deleted(subscriptionID: "X"),
                .failure(
                    ErrorDictionary(uuid: "u", serverErrorCode: .notFound, reason: "no", subscriptionID: "Y")),
            ])
        let json = response.encoded()
        #expect(text(json).contains(#"{"subscriptionID":"X"}"#))
        #expect(try SubscriptionsResponse(decoding: json) == response)
    }

    @Test func `subscriptions/lookup names IDs`() throws {
        let request = try LookupSubscriptionsRequest(
            decoding: bytes(#"{"subscriptions":[{"subscriptionID":"a"},{"subscriptionID":"b","firesOn":[]}]}"#))
        #expect(request.subscriptionIDs == ["a", "b"])
        #expect(try LookupSubscriptionsRequest(decoding: request.encoded()) == request)
    }

    @Test(
        arguments: [
            (#"{"operationType":"save","subscription":{}}"#, "operationType"),
            (#"{"operationType":"create"}"#, "subscription"),
            (#"{"operationType":"create","subscription":{"subscriptionID":"S"}}"#, "subscription.subscriptionType"),
            (#"{"operationType":"delete","subscription":{"firesOn":[]}}"#, "subscription.subscriptionID"),
        ])
    func `an invalid operation is refused by name`(operation: String, path: String) {
        #expect(
            error(ModifySubscriptionsRequest.self, #"{"operations":[\#(operation)]}"#)?.path == "operations[0].\(path)")
    }

    @Test(
        arguments: [
            (#"{"subscriptionType":"record"}"#, "subscriptionType"),
            (#"{"subscriptionType":"query","firesOn":["create","read"]}"#, "firesOn[1]"),
            (#"{"subscriptionType":"query","firesOn":"create"}"#, "firesOn"),
            (#"{"subscriptionType":"query","query":{"filterBy":[]}}"#, "query.recordType"),
            (#"{"subscriptionType":"zone","zoneID":"Z"}"#, "zoneID"),
            (#"{"subscriptionType":"zone","notificationInfo":{"shouldBadge":"yes"}}"#, "notificationInfo.shouldBadge"),
        ])
    func `an invalid subscription is refused by name`(subscription: String, path: String) {
        #expect(error(SubscriptionDictionary.self, subscription)?.path == path)
    }

    @Test func `push tokens round-trip`() throws {
        let request = try TokenRequest(
            decoding: bytes(#"{"apnsEnvironment":"production","apnsToken":"QUJD","clientId":"c"}"#))
        #expect(request == TokenRequest(apnsEnvironment: .production, apnsToken: "QUJD", clientID: "c"))
        #expect(try TokenRequest(decoding: request.encoded()) == request)
        let response = TokenResponse(
            apnsEnvironment: .development, apnsToken: "QUJD", webcourierURL: "http://localhost/c")
        #expect(
            text(response.encoded())
                == #"{"apnsEnvironment":"development","apnsToken":"QUJD","webcourierURL":"http://localhost/c"}"#)
        #expect(try TokenResponse(decoding: response.encoded()) == response)
        #expect(error(TokenRequest.self, "{}")?.path == "apnsEnvironment")
        #expect(error(TokenRequest.self, #"{"apnsEnvironment":"sandbox"}"#)?.path == "apnsEnvironment")
    }
}
