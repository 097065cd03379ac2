import CloudKit
import Testing

/// Reading the dictionary of a remote notification.
@Suite struct NotificationTests {
    private let owner = "_0123456789abcdef0123456789abcdef"

    private func dictionary(_ subject: [String: Any], _ aps: [String: Any] = ["content-available": 1]) -> [AnyHashable:
        Any]
    {
        [
            "aps": aps,
            "ck": ["ce": 2, "cid": "iCloud.org.example.App", "ckuserid": owner, "nid": "N-1"].merging(subject) { $1 },
        ]
    }

    @Test func `a query notification has the record, the reason and the fields`() throws {
        let query: [String: Any] = [
            "dbs": 2, "fo": 1, "rid": "note-1", "sid": "notes", "zid": "Notes", "zoid": owner,
            "af": ["title": "Hello", "stars": 5],
        ]
        let notification = CKNotification(fromRemoteNotificationDictionary: dictionary(["qry": query]))
        #expect(notification?.notificationType == .query)
        let found = try #require(notification as? CKQueryNotification)
        #expect(found.recordID == CKRecord.ID(recordName: "note-1", zoneID: CKRecordZone.ID(zoneName: "Notes")))
        #expect(found.queryNotificationReason == .recordCreated)
        #expect(found.databaseScope == .private)
        #expect(found.recordFields?["title"] as? String == "Hello")
        #expect(found.recordFields?["stars"] as? Int == 5)
        #expect(found.subscriptionID == "notes" && found.containerIdentifier == "iCloud.org.example.App")
        #expect(found.subscriptionOwnerUserRecordID == CKRecord.ID(recordName: owner))
        #expect(!found.isPruned)
        let same = CKNotification(fromRemoteNotificationDictionary: dictionary(["qry": query]))
        #expect(same?.notificationID == found.notificationID && found.notificationID != nil)
    }

    @Test func `zone and database notifications name the changed zone or database`() throws {
        let zone = CKNotification(
            fromRemoteNotificationDictionary: dictionary([
                "fet": ["dbs": 3, "sid": "z", "zid": "Shared", "zoid": "_someone"]
            ]))
        #expect(zone?.notificationType == .recordZone)
        let inZone = try #require(zone as? CKRecordZoneNotification)
        #expect(inZone.databaseScope == .shared && inZone.subscriptionID == "z")
        #expect(inZone.recordZoneID?.zoneName == "Shared" && inZone.recordZoneID?.ownerName == "_someone")

        let database = CKNotification(
            fromRemoteNotificationDictionary: dictionary(["met": ["dbs": 2, "sid": "d"]]))
        #expect(database?.notificationType == .database)
        #expect((database as? CKDatabaseNotification)?.databaseScope == .private)
        #expect(database?.subscriptionID == "d" && !(database is CKQueryNotification))
    }

    private func userInfo(_ subject: String) throws -> [AnyHashable: Any] {
        let json = #"{"ck": {"cid": "c", "ckuserid": "_me", "nid": "n", \#(subject)}}"#
        return try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? [AnyHashable: Any])
    }

    @Test(arguments: [
        (#""qry": {"dbs": 0, "zid": "_defaultZone", "zoid": "_defaultOwner"}"#, CKDatabase.Scope.public),
        (#""qry": {"dbs": 1, "zid": "_defaultZone", "zoid": "_defaultOwner"}"#, .public),
        (#""qry": {"dbs": 1, "zid": "_defaultZone", "zoid": "_me"}"#, .private),
        (#""qry": {"dbs": 1, "zid": "Notes"}"#, .private), (#""qry": {"dbs": 2, "zid": "Notes"}"#, .private),
    ])
    func `the database of a query notification is read from any kind of number`(
        subject: String, scope: CKDatabase.Scope
    ) throws {
        let notification = CKQueryNotification(fromRemoteNotificationDictionary: try userInfo(subject))
        #expect(notification?.databaseScope == scope)
    }

    @Test(arguments: [
        (#""met": {"dbs": 1}"#, CKDatabase.Scope.private), (#""met": {"dbs": 2}"#, .private),
        (#""met": {"dbs": 3}"#, .shared), (#""met": {}"#, .private),
        (#""met": {"dbs": 1, "zid": "Z", "zoid": "_me"}"#, .private),
        (#""met": {"dbs": 2, "zid": "Z", "zoid": "_me"}"#, .private),
        (#""met": {"dbs": 2, "zid": "Z", "zoid": "_another"}"#, .shared),
    ])
    func `the database of a database notification is read from any kind of number`(
        subject: String, scope: CKDatabase.Scope
    ) throws {
        let notification = CKDatabaseNotification(fromRemoteNotificationDictionary: try userInfo(subject))
        #expect(notification?.databaseScope == scope)
    }

    @Test func `fields without a JSON form have their own types`() throws {
        let query: [String: Any] = [
            "dbs": 2, "fo": 2, "rid": "a", "sid": "s", "zid": "Notes", "zoid": owner,
            "af": ["due": 1_000, "list": "l-1", "place": ["latitude": 1.5, "longitude": -2.0]],
            "aft": ["due": "TIMESTAMP", "list": "REFERENCE", "place": "LOCATION"],
        ]
        let notification = CKQueryNotification(fromRemoteNotificationDictionary: dictionary(["qry": query]))
        let fields = try #require(notification?.recordFields)
        #expect(fields["due"] as? Date == Date(timeIntervalSince1970: 1))
        let list = CKRecord.ID(recordName: "l-1", zoneID: CKRecordZone.ID(zoneName: "Notes"))
        #expect((fields["list"] as? CKRecord.Reference)?.recordID == list)
        #expect((fields["place"] as? CLLocation)?.coordinate.latitude == 1.5)
    }

    @Test func `a subclass reads its own kind only`() {
        let database = dictionary(["met": ["dbs": 2, "sid": "d"]])
        #expect(CKDatabaseNotification(fromRemoteNotificationDictionary: database)?.databaseScope == .private)
        #expect(CKQueryNotification(fromRemoteNotificationDictionary: database) == nil)
    }

    @Test func `the dictionary may be Foundation's, as a property list or JSON gives it`() throws {
        let json = """
            {"aps": {}, "ck": {"cid": "c", "nid": "n", "qry": {"dbs": 1, "fo": 3, "rid": "a", "sid": "s",
            "zid": "_defaultZone", "zoid": "_defaultOwner"}}}
            """
        let parsed = try JSONSerialization.jsonObject(with: Data(json.utf8))
        let userInfo = try #require(parsed as? [AnyHashable: Any])
        let notification = try #require(
            CKNotification(fromRemoteNotificationDictionary: userInfo) as? CKQueryNotification)
        #expect(notification.recordID == CKRecord.ID(recordName: "a") && notification.databaseScope == .public)
        #expect(notification.queryNotificationReason == .recordDeleted && notification.recordFields == nil)
        let nested = NSDictionary(dictionary: ["ck": NSDictionary(dictionary: ["met": NSDictionary(), "nid": "x"])])
        let bridged = try #require(nested as? [AnyHashable: Any])
        #expect(CKNotification(fromRemoteNotificationDictionary: bridged) is CKDatabaseNotification)
    }

    @Test(arguments: ["{}", #"{"aps": {"alert": "hi"}}"#, #"{"ck": 1}"#, #"{"ck": {}}"#])
    func `another app's payload is not a notification`(json: String) throws {
        let parsed = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        #expect(CKNotification(fromRemoteNotificationDictionary: try #require(parsed)) == nil)
    }

    @Test func `a notification with only an ID is still a notification`() throws {
        let notification = try #require(
            CKNotification(fromRemoteNotificationDictionary: ["ck": ["ce": 2, "cid": "c", "nid": "n"]]))
        #expect(notification.containerIdentifier == "c" && notification.subscriptionID == nil)
        #expect(!(notification is CKQueryNotification))
    }

    @available(*, deprecated)
    @Test func `the alert's properties can be read`() throws {
        let alert: [String: Any] = [
            "body": "b", "loc-key": "lk", "loc-args": ["x", "y"], "title": "t", "title-loc-key": "tk",
            "title-loc-args": ["1"], "subtitle": "s", "subtitle-loc-key": "sk", "subtitle-loc-args": [],
            "action-loc-key": "ak", "launch-image": "i.png",
        ]
        let aps: [String: Any] = ["alert": alert, "badge": 3, "sound": "default", "category": "c"]
        let shown = try #require(
            CKNotification(fromRemoteNotificationDictionary: dictionary(["met": ["sid": "d"]], aps)))
        #expect(shown.alertBody == "b" && shown.alertLocalizationKey == "lk" && shown.title == "t")
        #expect(shown.alertLocalizationArgs == ["x", "y"] && shown.titleLocalizationArgs == ["1"])
        #expect(shown.titleLocalizationKey == "tk" && shown.subtitle == "s" && shown.subtitleLocalizationKey == "sk")
        #expect(shown.subtitleLocalizationArgs == [] && shown.alertActionLocalizationKey == "ak")
        #expect(shown.alertLaunchImage == "i.png" && shown.badge == 3 && shown.soundName == "default")
        #expect(shown.category == "c")
        let plain = CKNotification(
            fromRemoteNotificationDictionary: dictionary(["met": ["sid": "d"]], ["alert": "plain"]))
        #expect(plain?.alertBody == "plain" && plain?.title == nil && plain?.badge == nil)
    }

    @Test func `a notification's ID survives an archive`() throws {
        let id = try #require(
            CKNotification(fromRemoteNotificationDictionary: dictionary(["met": ["sid": "d"]]))?.notificationID)
        let data = try NSKeyedArchiver.archivedData(withRootObject: id, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKNotification.ID.self, from: data) == id)
    }
}
