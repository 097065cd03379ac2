import NephosTesting
import NephosWire
import Testing

/// The payload of a notification, in the form of Apple's push service.
struct NotificationPayloadTests {
    private func payload(_ kind: NotificationPayload.Kind) -> NotificationPayload {
        NotificationPayload(
            kind, notificationID: "3d1c5c2e-7a0f-4c2b-9a54-0a2f1a0e5a10",
            containerIdentifier: "iCloud.org.example.Gallery", userRecordName: "_u", subscriptionID: "sub-1",
            databaseScope: .private, zoneID: ZoneIDDictionary(zoneName: "Gallery", ownerRecordName: "_o"))
    }

    private var whole: NotificationPayload {
        var payload = payload(
            .query(
                recordName: "A-18", reason: .recordCreated,
                fields: [
                    "title": .string("Noon"), "year": .int64(1932), "height": .double(2), "width": .double(0.5),
                    "shown": .timestamp(1000), "artist": .reference(ReferenceValue(recordName: "P")),
                    "place": .location(LocationValue(latitude: 1, longitude: 2)),
                ]))
        payload.alert = .init(text: "New artwork", localizationKey: "K", localizationArgs: ["a"])
        payload.title = .init(text: "T", localizationKey: "TK", localizationArgs: ["t"])
        payload.subtitle = .init(text: "S", localizationKey: "SK", localizationArgs: ["s"])
        payload.alertActionLocalizationKey = "A"
        payload.alertLaunchImage = "L.png"
        payload.badge = 1
        payload.soundName = "default"
        payload.category = "C"
        payload.isContentAvailable = true
        payload.isMutableContent = true
        return payload
    }

    @Test func `a query notification has Apple's format`() {
        var payload = payload(
            .query(recordName: "A-18", reason: .recordCreated, fields: ["title": .string("Noon")]))
        payload.databaseScope = .public
        payload.alert.text = "New artwork"
        payload.soundName = "default"
        #expect(
            text(payload.encoded())
                == #"{"aps":{"alert":{"body":"New artwork"},"sound":"default"},"ck":{"ce":2,"#
                + #""cid":"iCloud.org.example.Gallery","ckuserid":"_u","nid":"3d1c5c2e-7a0f-4c2b-9a54-0a2f1a0e5a10","#
                + #""qry":{"rid":"A-18","fo":1,"sid":"sub-1","zid":"Gallery","zoid":"_o","dbs":0,"#
                + #""af":{"title":"Noon"}}}}"#)
    }

    @Test(arguments: [(NotificationPayload.Kind.zone, "fet"), (.database, "met")])
    func `zone and database notifications differ by one key`(kind: NotificationPayload.Kind, key: String) {
        var payload = payload(kind)
        payload.isContentAvailable = true
        #expect(payload.isSilent)
        #expect(
            text(payload.encoded())
                == #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.org.example.Gallery","ckuserid":"_u","#
                + #""nid":"3d1c5c2e-7a0f-4c2b-9a54-0a2f1a0e5a10","\#(key)":{"sid":"sub-1","zid":"Gallery","#
                + #""zoid":"_o","dbs":1}}}"#)
    }

    @Test func `a notification round-trips, fields with their types`() throws {
        #expect(try NotificationPayload(decoding: whole.encoded()) == whole)
        #expect(try NotificationPayload(decoding: payload(.zone).encoded()) == payload(.zone))
        #expect(try NotificationPayload(decoding: payload(.database).encoded()) == payload(.database))
    }

    @Test(arguments: ["{}", #"{"aps":{"badge":1}}"#, #"{"ck":{}}"#])
    func `another app's payload is not decoded as a notification`(json: String) {
        #expect(error(NotificationPayload.self, json) != nil)
    }

    @Test func `an alert may be a string`() throws {
        let payload = try NotificationPayload(decoding: bytes(#"{"aps":{"alert":"Hello"},"ck":{"met":{"dbs":2}}}"#))
        #expect(payload.alert.text == "Hello")
        #expect(payload.databaseScope == .shared)
    }

    @Test func `a payload within the limit is not pruned`() throws {
        let body = whole.pruned(to: whole.encoded().count)
        #expect(try NotificationPayload(decoding: body) == whole)
    }

    @Test func `a payload over the limit is pruned, the least important keys first, and says so`() throws {
        var payload = whole
        payload.alert.text = String(repeating: "x", count: 5000)
        let body = payload.pruned(to: 4096)
        let pruned = try NotificationPayload(decoding: body)
        #expect(body.count <= 4096)
        #expect(pruned.isPruned)
        #expect(pruned.alert == .init())
        #expect(pruned.badge == nil)
        #expect(pruned.kind == payload.kind)
        #expect(pruned.title == payload.title)
        #expect(pruned.soundName == payload.soundName)
        #expect(pruned.notificationID == payload.notificationID)
    }

    @Test func `the payload keeps its limit, identifier and subscription, whatever is long`() throws {
        let seed = freshSeed()
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            func long() -> String { String(repeating: "é", count: generator.below(3000)) }
            var payload = whole
            payload.alert = .init(text: long(), localizationKey: long(), localizationArgs: [long()])
            payload.title = .init(text: long(), localizationKey: long(), localizationArgs: [long()])
            payload.subtitle = .init(text: long(), localizationKey: long(), localizationArgs: [long()])
            payload.soundName = long()
            payload.category = long()
            payload.kind = .query(recordName: "A", reason: .recordDeleted, fields: ["a": .string(long())])
            let body = payload.pruned(to: 4096)
            #expect(body.count <= 4096, "seed \(seed)")
            let pruned = try NotificationPayload(decoding: body)
            #expect(pruned.notificationID == payload.notificationID, "seed \(seed)")
            #expect(pruned.subscriptionID == payload.subscriptionID, "seed \(seed)")
            #expect(pruned == payload || pruned.isPruned, "seed \(seed)")
        }
    }
}
