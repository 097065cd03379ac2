import NephosWire
import Testing

/// The bytes and decoding errors of messages about subscriptions and notifications.
struct RecordedSubscriptionTests {
    private var info: NotificationInfoDictionary {
        var info = NotificationInfoDictionary()
        info.alertBody = "New"
        info.alertLocalizationKey = "K"
        info.alertLocalizationArgs = ["a"]
        info.title = "T"
        info.titleLocalizationKey = "TK"
        info.titleLocalizationArgs = ["t"]
        info.subtitle = "S"
        info.subtitleLocalizationKey = "SK"
        info.subtitleLocalizationArgs = ["s"]
        info.alertActionLocalizationKey = "A"
        info.alertLaunchImage = "L.png"
        info.soundName = "default"
        info.additionalFields = ["title"]
        info.shouldBadge = true
        info.shouldSendContentAvailable = true
        info.shouldSendMutableContent = true
        info.category = "C"
        info.collapseIDKey = "title"
        return info
    }

    private var subscription: SubscriptionDictionary {
        SubscriptionDictionary(
            subscriptionID: "S", subscriptionType: .query,
            query: Query(recordType: "Artwork", filterBy: [Filter(.field("year"), .equals, .int64(1))]),
            firesOn: [.create, .update, .delete], firesOnce: true, zoneID: Samples.zoneID, zoneWide: true,
            recordType: "Artwork", notificationInfo: info)
    }

    private let plain = SubscriptionDictionary(subscriptionID: nil, subscriptionType: .database)

    @Test func `a subscription keeps its bytes and errors`() throws {
        try expectRecorded(
            small: plain, #"{"subscriptionType":"database"}"#, full: subscription,
            #"""
            {"subscriptionID":"S","subscriptionType":"query","query":{"recordType":"Artwork",\#
            "filterBy":[{"comparator":"EQUALS","fieldName":"year","fieldValue":{"value":1,"type":"INT64"}}]},\#
            "firesOn":["create","update","delete"],"firesOnce":true,"zoneID":{"zoneName":"Gallery",\#
            "ownerRecordName":"_owner","zoneType":"REGULAR_CUSTOM_ZONE"},"zoneWide":true,\#
            "recordType":"Artwork","notificationInfo":{"alertBody":"New","alertLocalizationKey":"K",\#
            "alertLocalizationArgs":["a"],"title":"T","titleLocalizationKey":"TK",\#
            "titleLocalizationArgs":["t"],"subtitle":"S","subtitleLocalizationKey":"SK",\#
            "subtitleLocalizationArgs":["s"],"alertActionLocalizationKey":"A","alertLaunchImage":"L.png",\#
            "soundName":"default","additionalFields":["title"],"shouldBadge":true,\#
            "shouldSendContentAvailable":true,"shouldSendMutableContent":true,"category":"C",\#
            "collapseIDKey":"title"}}
            """#,
            malformed: #"""
                []: expected a subscription, found an array
                {}: at subscriptionType: expected one of query, zone, database, found nothing
                subscriptionID, query.recordType {}: expected a string, found an object
                query.filterBy[0].fieldName, zoneID.zoneName {}: expected a string, found an object
                zoneID.ownerRecordName, recordType {}: expected a string, found an object
                notificationInfo.alertBody {}: expected a string, found an object
                notificationInfo.alertLocalizationKey {}: expected a string, found an object
                notificationInfo.alertLocalizationArgs[0] {}: expected a string, found an object
                notificationInfo.title {}: expected a string, found an object
                notificationInfo.titleLocalizationKey {}: expected a string, found an object
                notificationInfo.titleLocalizationArgs[0] {}: expected a string, found an object
                notificationInfo.subtitle {}: expected a string, found an object
                notificationInfo.subtitleLocalizationKey {}: expected a string, found an object
                notificationInfo.subtitleLocalizationArgs[0] {}: expected a string, found an object
                notificationInfo.alertActionLocalizationKey {}: expected a string, found an object
                notificationInfo.alertLaunchImage {}: expected a string, found an object
                notificationInfo.soundName {}: expected a string, found an object
                notificationInfo.additionalFields[0] {}: expected a string, found an object
                notificationInfo.category, notificationInfo.collapseIDKey {}: expected a string, found an object
                subscriptionType missing or null: expected one of query, zone, database, found nothing
                subscriptionType {}: expected one of query, zone, database, found an object
                subscriptionType "?": expected one of query, zone, database, found the string "?"
                query 5: expected a query, found the number 5
                query.recordType, zoneID.zoneName missing or null: expected a string, found nothing
                query.filterBy 5: expected an array of filters, found the number 5
                query.filterBy[0] null: expected a filter, found null
                query.filterBy[0] 5: expected a filter, found the number 5
                query.filterBy[0].comparator missing or null: expected one of EQUALS, NOT_EQUALS, LESS_THAN, \#
                LESS_THAN_OR_EQUALS, GREATER_THAN, GREATER_THAN_OR_EQUALS, NEAR, CONTAINS_ALL_TOKENS, IN, NOT_IN, \#
                CONTAINS_ANY_TOKENS, LIST_CONTAINS, NOT_LIST_CONTAINS, NOT_LIST_CONTAINS_ANY, BEGINS_WITH, \#
                NOT_BEGINS_WITH, LIST_MEMBER_BEGINS_WITH, NOT_LIST_MEMBER_BEGINS_WITH, LIST_CONTAINS_ALL, \#
                NOT_LIST_CONTAINS_ALL, LIST_CONTAINS_ANY, found nothing
                query.filterBy[0].comparator {}: expected one of EQUALS, NOT_EQUALS, LESS_THAN, LESS_THAN_OR_EQUALS, \#
                GREATER_THAN, GREATER_THAN_OR_EQUALS, NEAR, CONTAINS_ALL_TOKENS, IN, NOT_IN, CONTAINS_ANY_TOKENS, \#
                LIST_CONTAINS, NOT_LIST_CONTAINS, NOT_LIST_CONTAINS_ANY, BEGINS_WITH, NOT_BEGINS_WITH, \#
                LIST_MEMBER_BEGINS_WITH, NOT_LIST_MEMBER_BEGINS_WITH, LIST_CONTAINS_ALL, NOT_LIST_CONTAINS_ALL, \#
                LIST_CONTAINS_ANY, found an object
                query.filterBy[0].comparator "?": expected one of EQUALS, NOT_EQUALS, LESS_THAN, \#
                LESS_THAN_OR_EQUALS, GREATER_THAN, GREATER_THAN_OR_EQUALS, NEAR, CONTAINS_ALL_TOKENS, IN, NOT_IN, \#
                CONTAINS_ANY_TOKENS, LIST_CONTAINS, NOT_LIST_CONTAINS, NOT_LIST_CONTAINS_ANY, BEGINS_WITH, \#
                NOT_BEGINS_WITH, LIST_MEMBER_BEGINS_WITH, NOT_LIST_MEMBER_BEGINS_WITH, LIST_CONTAINS_ALL, \#
                NOT_LIST_CONTAINS_ALL, LIST_CONTAINS_ANY, found the string "?"
                query.filterBy[0].fieldName missing or null: expected the name of a field (or systemFieldName), \#
                found nothing
                query.filterBy[0].fieldValue missing or null: expected a dictionary with the key "value", found \#
                nothing
                query.filterBy[0].fieldValue 5: expected a dictionary with the key "value", found the number 5
                query.filterBy[0].fieldValue.value missing or null: expected a value to compare with, found nothing
                query.filterBy[0].fieldValue.value {}: declared INT64: expected an integer, found an object
                query.filterBy[0].fieldValue.type {}: expected a field type (STRING, INT64, DOUBLE, BYTES, \#
                TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found an object
                query.filterBy[0].fieldValue.type "?": expected a field type (STRING, INT64, DOUBLE, BYTES, \#
                TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found the string "?"
                firesOn missing or null: reads as []
                firesOn 5: expected an array of create, update and delete, found the number 5
                firesOn[0] null: expected one of create, update, delete, found null
                firesOn[0] {}: expected one of create, update, delete, found an object
                firesOn[0] "?": expected one of create, update, delete, found the string "?"
                firesOnce, notificationInfo.shouldBadge missing or null: reads as false
                notificationInfo.shouldSendContentAvailable missing or null: reads as false
                firesOnce, zoneWide, notificationInfo.shouldBadge {}: expected true or false, found an object
                notificationInfo.shouldSendContentAvailable {}: expected true or false, found an object
                notificationInfo.shouldSendMutableContent {}: expected true or false, found an object
                zoneID 5: expected a zone ID, found the number 5
                zoneID.zoneType missing or null or {} or "?": reads as "REGULAR_CUSTOM_ZONE"
                notificationInfo 5: expected a notification info, found the number 5
                notificationInfo.alertLocalizationArgs 5: expected an array of strings, found the number 5
                notificationInfo.titleLocalizationArgs 5: expected an array of strings, found the number 5
                notificationInfo.subtitleLocalizationArgs 5: expected an array of strings, found the number 5
                notificationInfo.additionalFields 5: expected an array of strings, found the number 5
                notificationInfo.alertLocalizationArgs[0] null: expected a string, found null
                notificationInfo.titleLocalizationArgs[0] null: expected a string, found null
                notificationInfo.subtitleLocalizationArgs[0] null: expected a string, found null
                notificationInfo.additionalFields[0] null: expected a string, found null
                """#)
    }

    @Test func `a request that modifies subscriptions keeps its bytes and errors`() throws {
        try expectRecorded(
            small: ModifySubscriptionsRequest(operations: []), #"{"operations":[]}"#,
            full: ModifySubscriptionsRequest(
                operations: [.create(plain), .update(plain), .delete(subscriptionID: "S")]),
            #"""
            {"operations":[{"operationType":"create","subscription":{"subscriptionType":"database"}},\#
            {"operationType":"update","subscription":{"subscriptionType":"database"}},\#
            {"operationType":"delete","subscription":{"subscriptionID":"S"}}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at operations: expected an array, found nothing
                operations missing or null: expected an array, found nothing
                operations 5: expected an array of operations, found the number 5
                operations[0] null: expected an operation, found null
                operations[0] 5: expected an operation, found the number 5
                operations[0].operationType missing or null: expected one of create, update, delete, found nothing
                operations[0].operationType {}: expected one of create, update, delete, found an object
                operations[0].operationType "?": expected one of create, update, delete, found the string "?"
                operations[0].subscription missing or null: expected a subscription, found nothing
                operations[0].subscription 5: expected a subscription, found the number 5
                operations[0].subscription.subscriptionType missing or null: expected one of query, zone, database, \#
                found nothing
                operations[0].subscription.subscriptionType {}: expected one of query, zone, database, found an object
                operations[0].subscription.subscriptionType "?": expected one of query, zone, database, found the \#
                string "?"
                """#)
        try expectRecorded(
            small: ModifySubscriptionsRequest(operations: [.update(plain)]),
            #"""
            {"operations":[{"operationType":"update","subscription":{"subscriptionType":"database"}}]}
            """#,
            full: ModifySubscriptionsRequest(operations: [.delete(subscriptionID: "S")]),
            #"""
            {"operations":[{"operationType":"delete","subscription":{"subscriptionID":"S"}}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at operations: expected an array, found nothing
                operations missing or null: expected an array, found nothing
                operations 5: expected an array of operations, found the number 5
                operations[0] null: expected an operation, found null
                operations[0] 5: expected an operation, found the number 5
                operations[0].operationType missing or null: expected one of create, update, delete, found nothing
                operations[0].operationType {}: expected one of create, update, delete, found an object
                operations[0].operationType "?": expected one of create, update, delete, found the string "?"
                operations[0].subscription missing or null: expected a subscription, found nothing
                operations[0].subscription 5: expected a dictionary with the key "subscriptionID", found the number 5
                operations[0].subscription.subscriptionID missing or null: expected a string, found nothing
                operations[0].subscription.subscriptionID {}: expected a string, found an object
                """#)
    }

    @Test func `a request that looks up subscriptions keeps its bytes and errors`() throws {
        try expectRecorded(
            small: LookupSubscriptionsRequest(subscriptionIDs: []), #"{"subscriptions":[]}"#,
            full: LookupSubscriptionsRequest(subscriptionIDs: ["S", "T"]),
            #"{"subscriptions":[{"subscriptionID":"S"},{"subscriptionID":"T"}]}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at subscriptions: expected an array, found nothing
                subscriptions missing or null: expected an array, found nothing
                subscriptions 5: expected an array of subscriptions, found the number 5
                subscriptions[0] null: expected a dictionary with the key "subscriptionID", found null
                subscriptions[0] 5: expected a dictionary with the key "subscriptionID", found the number 5
                subscriptions[0].subscriptionID missing or null: expected a string, found nothing
                subscriptions[0].subscriptionID {}: expected a string, found an object
                """#)
    }

    @Test func `an answer with subscriptions keeps its bytes and errors`() throws {
        try expectRecorded(
            small: SubscriptionsResponse(subscriptions: []), #"{"subscriptions":[]}"#,
            full: SubscriptionsResponse(
                subscriptions: [.subscription(plain), .deleted(subscriptionID: "S"), .failure(Samples.failure)]),
            #"""
            {"subscriptions":[{"subscriptionType":"database"},{"subscriptionID":"S"},{"uuid":"u",\#
            "serverErrorCode":"NOT_FOUND","reason":"no such item"}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at subscriptions: expected an array, found nothing
                subscriptions missing or null: expected an array, found nothing
                subscriptions 5: expected an array of subscriptions, found the number 5
                subscriptions[0] null: expected a subscription, found null
                subscriptions[0] 5: expected a subscription, found the number 5
                subscriptions[0].subscriptionType missing: at subscriptions[0].subscriptionID: expected a string, \#
                found nothing
                subscriptions[0].subscriptionType null: expected one of query, zone, database, found nothing
                subscriptions[0].subscriptionType {}: expected one of query, zone, database, found an object
                subscriptions[0].subscriptionType "?": expected one of query, zone, database, found the string "?"
                """#)
        try expectRecorded(
            small: SubscriptionsResponse(subscriptions: [.deleted(subscriptionID: "S")]),
            #"{"subscriptions":[{"subscriptionID":"S"}]}"#,
            full: SubscriptionsResponse(subscriptions: [.failure(Samples.failure)]),
            #"""
            {"subscriptions":[{"uuid":"u","serverErrorCode":"NOT_FOUND","reason":"no such item"}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at subscriptions: expected an array, found nothing
                subscriptions missing or null: expected an array, found nothing
                subscriptions 5: expected an array of subscriptions, found the number 5
                subscriptions[0] null: expected a subscription, found null
                subscriptions[0] 5: expected a subscription, found the number 5
                subscriptions[0].uuid, subscriptions[0].reason missing or null: reads as ""
                subscriptions[0].uuid, subscriptions[0].serverErrorCode {}: expected a string, found an object
                subscriptions[0].reason {}: expected a string, found an object
                subscriptions[0].serverErrorCode missing or null: at subscriptions[0].subscriptionID: expected a \#
                string, found nothing
                subscriptions[0].serverErrorCode "?": reads as "INTERNAL_ERROR"
                """#)
    }

    @Test func `push tokens keep their bytes and errors`() throws {
        try expectRecorded(
            small: TokenRequest(apnsEnvironment: .development), #"{"apnsEnvironment":"development"}"#,
            full: TokenRequest(apnsEnvironment: .production, apnsToken: "QUJD", clientID: "c"),
            #"{"apnsEnvironment":"production","apnsToken":"QUJD","clientId":"c"}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at apnsEnvironment: expected one of development, production, found nothing
                apnsEnvironment missing or null: expected one of development, production, found nothing
                apnsEnvironment {}: expected one of development, production, found an object
                apnsEnvironment "?": expected one of development, production, found the string "?"
                apnsToken, clientId {}: expected a string, found an object
                """#)
        try expectRecorded(
            small: TokenResponse(apnsEnvironment: .development, apnsToken: "", webcourierURL: ""),
            #"{"apnsEnvironment":"development","apnsToken":"","webcourierURL":""}"#,
            full: TokenResponse(
                apnsEnvironment: .production, apnsToken: "QUJD", webcourierURL: "https://example.com/c"),
            #"""
            {"apnsEnvironment":"production","apnsToken":"QUJD","webcourierURL":"https://example.com/c"}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at apnsEnvironment: expected one of development, production, found nothing
                apnsEnvironment missing or null: expected one of development, production, found nothing
                apnsEnvironment {}: expected one of development, production, found an object
                apnsEnvironment "?": expected one of development, production, found the string "?"
                apnsToken, webcourierURL missing or null: expected a string, found nothing
                apnsToken, webcourierURL {}: expected a string, found an object
                """#)
    }

    private func payload(_ kind: NotificationPayload.Kind) -> NotificationPayload {
        var payload = NotificationPayload(
            kind, notificationID: "n", containerIdentifier: "iCloud.com.example", userRecordName: "_a",
            subscriptionID: "S", databaseScope: .private, zoneID: Samples.zoneID)
        payload.alert = NotificationPayload.Text(text: "New", localizationKey: "K", localizationArgs: ["a"])
        payload.title = NotificationPayload.Text(text: "T", localizationKey: "TK", localizationArgs: ["t"])
        payload.subtitle = NotificationPayload.Text(text: "S", localizationKey: "SK", localizationArgs: ["s"])
        payload.alertActionLocalizationKey = "A"
        payload.alertLaunchImage = "L.png"
        payload.badge = 3
        payload.soundName = "default"
        payload.category = "C"
        payload.isContentAvailable = true
        payload.isMutableContent = true
        payload.isPruned = true
        return payload
    }

    private let small = NotificationPayload(
        .database, notificationID: nil, containerIdentifier: nil, userRecordName: nil, subscriptionID: nil,
        databaseScope: .shared, zoneID: nil)

    @Test func `a notification keeps its bytes and errors`() throws {
        let fields: [String: FieldValue] = [
            "title": .string("G"), "year": .int64(1932), "whole": .double(2), "half": .double(0.5),
            "time": .timestamp(1_000), "of": .reference(ReferenceValue(recordName: "root")),
            "place": .location(LocationValue(latitude: 1.5, longitude: 2)),
        ]
        try expectRecorded(
            small: small, #"{"aps":{},"ck":{"ce":2,"met":{"dbs":2}}}"#,
            full: payload(.query(recordName: "A", reason: .recordUpdated, fields: fields)),
            #"""
            {"aps":{"alert":{"title":"T","title-loc-key":"TK","title-loc-args":["t"],"subtitle":"S",\#
            "subtitle-loc-key":"SK","subtitle-loc-args":["s"],"body":"New","loc-key":"K","loc-args":["a"],\#
            "action-loc-key":"A","launch-image":"L.png"},"badge":3,"sound":"default","category":"C",\#
            "content-available":1,"mutable-content":1},"ck":{"ce":2,"cid":"iCloud.com.example",\#
            "ckuserid":"_a","nid":"n","p":1,"qry":{"rid":"A","fo":2,"sid":"S","zid":"Gallery","zoid":"_owner",\#
            "dbs":1,"af":{"half":0.5,"of":"root","place":{"latitude":1.5,"longitude":2.0},"time":1000,\#
            "title":"G","whole":2.0,"year":1932},"aft":{"of":"REFERENCE","place":"LOCATION",\#
            "time":"TIMESTAMP","whole":"DOUBLE"}}}}
            """#,
            malformed: #"""
                []: expected a notification, found an array
                {}: at ck: expected an object, found nothing
                aps missing or null: reads as {}
                aps, ck, ck.qry, ck.qry.af, ck.qry.aft 5: expected an object, found the number 5
                aps.alert 5: expected a string, found the number 5
                aps.alert.title, aps.alert.title-loc-key {}: expected a string, found an object
                aps.alert.title-loc-args[0], aps.alert.subtitle {}: expected a string, found an object
                aps.alert.subtitle-loc-key, aps.alert.subtitle-loc-args[0] {}: expected a string, found an object
                aps.alert.body, aps.alert.loc-key, aps.alert.loc-args[0] {}: expected a string, found an object
                aps.alert.action-loc-key, aps.alert.launch-image, aps.sound {}: expected a string, found an object
                aps.category, ck.cid, ck.ckuserid, ck.nid, ck.qry.rid {}: expected a string, found an object
                ck.qry.sid, ck.qry.zid, ck.qry.zoid, ck.qry.af.half {}: expected a string, found an object
                ck.qry.af.of, ck.qry.af.title, ck.qry.af.year {}: expected a string, found an object
                ck.qry.aft.of, ck.qry.aft.place, ck.qry.aft.time {}: expected a string, found an object
                ck.qry.aft.whole {}: expected a string, found an object
                aps.alert.title-loc-args 5: expected an array of strings, found the number 5
                aps.alert.subtitle-loc-args 5: expected an array of strings, found the number 5
                aps.alert.loc-args 5: expected an array of strings, found the number 5
                aps.alert.title-loc-args[0], aps.alert.subtitle-loc-args[0] null: expected a string, found null
                aps.alert.loc-args[0], ck.qry.aft.of, ck.qry.aft.place null: expected a string, found null
                ck.qry.aft.time, ck.qry.aft.whole null: expected a string, found null
                aps.badge, aps.content-available, aps.mutable-content {}: expected an integer, found an object
                ck.p, ck.qry.fo, ck.qry.dbs, ck.qry.af.time {}: expected an integer, found an object
                aps.content-available, aps.mutable-content, ck.p -1: reads as nothing
                ck missing or null: expected an object, found nothing
                ck.ce missing or null or {} or -1: reads as 2
                ck.qry missing or null: at ck: expected one of qry, fet and met
                ck.qry.fo -1: expected 1, 2 or 3, found the number -1
                ck.qry.zid, ck.qry.af, ck.qry.af.of, ck.qry.af.place missing or null: reads as nothing
                ck.qry.af.time, ck.qry.af.whole missing or null: reads as nothing
                ck.qry.dbs missing or null: reads as 0
                ck.qry.dbs -1: expected 0, 1 or 2, found the number -1
                ck.qry.af.place 5: expected a location, found the number 5
                ck.qry.af.place.latitude, ck.qry.af.place.longitude missing: expected a number, found nothing
                ck.qry.af.place.latitude, ck.qry.af.place.longitude null: expected a number, found null
                ck.qry.af.place.latitude, ck.qry.af.place.longitude {}: expected a number, found an object
                ck.qry.af.whole {}: expected a number, found an object
                ck.qry.af.place.latitude, ck.qry.af.place.longitude, ck.qry.af.whole -1: reads as -1.0
                ck.qry.aft missing or null: at ck.qry.af.place: expected a string, found an object
                ck.qry.aft.of, ck.qry.aft.time "?": reads as nothing
                ck.qry.aft.place missing: at ck.qry.af.place: expected a string, found an object
                ck.qry.aft.place "?": at ck.qry.af.place: expected a string, found an object
                ck.qry.aft.whole missing: reads as "DOUBLE"
                ck.qry.aft.whole "?": reads as "DOUBLE"
                """#)
        var zone = small
        zone.kind = .zone
        zone.zoneID = Samples.zoneID
        try expectRecorded(
            small: small, #"{"aps":{},"ck":{"ce":2,"met":{"dbs":2}}}"#, full: zone,
            #"{"aps":{},"ck":{"ce":2,"fet":{"zid":"Gallery","zoid":"_owner","dbs":2}}}"#,
            malformed: #"""
                []: expected a notification, found an array
                {}: at ck: expected an object, found nothing
                aps missing or null: reads as {}
                aps, ck, ck.fet 5: expected an object, found the number 5
                ck missing or null: expected an object, found nothing
                ck.ce missing or null or {} or -1: reads as 2
                ck.fet missing or null: at ck: expected one of qry, fet and met
                ck.fet.zid missing or null: reads as nothing
                ck.fet.zid, ck.fet.zoid {}: expected a string, found an object
                ck.fet.dbs missing or null: reads as 0
                ck.fet.dbs {}: expected an integer, found an object
                ck.fet.dbs -1: expected 0, 1 or 2, found the number -1
                """#)
    }
}
