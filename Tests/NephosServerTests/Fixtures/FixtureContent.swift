import Foundation
import Synchronization
import Testing

@testable import CloudKit

/// What a fixture's stores have: every kind of record, field, share, subscription and token.
struct FixtureContent {
    static let containers = ["iCloud.org.example.Lists", "iCloud.org.example.Other"]
    static var container: String { containers[0] }
    static let people = ["mei", "bob", "zoe"]

    /// The container as an account's device sees it: account, container, environment.
    let device: (String, String, CloudKitEnvironment.Name) async throws -> CKContainer
    /// A request of administration: path, body.
    let administer: (String, String) async throws -> Void
    /// A request as the account: account, path below `/database/1/CONTAINER/development`, body.
    let post: (String, String, String) async throws -> [String: Any]
    /// Sends a file to an address of an upload, and returns the receipt.
    let upload: (String, String) async throws -> [String: Any]
    let address: (String) -> String
    /// For files of assets.
    let scratch: URL

    static let zoneID = CKRecordZone.ID(zoneName: "Lists")

    static let schema = """
        DEFINE SCHEMA
            CREATE ROLE Curator;
            RECORD TYPE Artwork (
                "___recordID" REFERENCE QUERYABLE, title STRING QUERYABLE SEARCHABLE SORTABLE, year INT64 QUERYABLE SORTABLE,
                tags LIST<STRING> QUERYABLE, place LOCATION QUERYABLE, note ENCRYPTED STRING,
                GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world", GRANT WRITE TO Curator
            );
            RECORD TYPE Dependent ("___recordID" REFERENCE QUERYABLE, owner REFERENCE QUERYABLE, number INT64);
        """

    // MARK: Stores

    /// Fills both containers in both environments.
    func fill() async throws {
        for container in Self.containers {
            try await administer(
                "/nephos/1/\(container)/development/schema/import", Self.schema)
            try await administer("/nephos/1/\(container)/development/schema/deploy", "")
            for environment in [CloudKitEnvironment.Name.development, .production] {
                for person in Self.people.prefix(2) {
                    let device = try await device(person, container, environment)
                    try await fillPlainly(device, person)
                }
            }
        }
        try await fillZones()
        try await fillPublic()
        try await makeShares()
        try await subscribe()
        try await leaveUploads()
    }

    private func fillPlainly(_ device: CKContainer, _ person: String) async throws {
        for database in [device.publicCloudDatabase, device.privateCloudDatabase] {
            let artworks = (0..<3).map { number in
                let artwork = CKRecord(
                    recordType: "Artwork", recordID: CKRecord.ID(recordName: "\(person)-\(number)"))
                artwork["title"] = "Work \(number) of \(person)"
                artwork["year"] = 1950 + number / 2
                artwork["tags"] = ["oil", person]
                artwork["place"] = CLLocation(latitude: Double(number), longitude: 8.5)
                return artwork
            }
            try await save(artworks, to: database)
        }
        _ = try await device.privateCloudDatabase.save(CKRecordZone(zoneName: "Plain"))
    }

    private func save(_ records: [CKRecord], deleting: [CKRecord.ID] = [], to database: CKDatabase) async throws {
        let results = try await database.modifyRecords(saving: records, deleting: deleting)
        for result in results.saveResults.values { _ = try result.get() }
        for result in results.deleteResults.values { _ = try result.get() }
    }

    // MARK: Zones and records

    private func mei() async throws -> CKContainer { try await device("mei", Self.container, .development) }

    private func fillZones() async throws {
        let database = try await mei().privateCloudDatabase
        for name in ["Lists", "Open", "Gone"] { _ = try await database.save(CKRecordZone(zoneName: name)) }
        let gone = CKRecordZone.ID(zoneName: "Gone")
        try await save(
            [CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "lost", zoneID: gone))], to: database)
        _ = try await database.deleteRecordZone(withID: gone)
        try await save(["every", "plain", "deleted"].map(record), to: database)
        try await save([], deleting: [record("deleted").recordID], to: database)
    }

    /// A record with a field of every type.
    private func record(_ name: String) throws -> CKRecord {
        let id = CKRecord.ID(recordName: name, zoneID: Self.zoneID)
        let record = CKRecord(recordType: "Everything", recordID: id)
        let date = Date(timeIntervalSince1970: 1_700_000_000.125)
        let place = CLLocation(latitude: 47.25, longitude: -8.5)
        let other = CKRecord.Reference(recordID: CKRecord.ID(recordName: "every", zoneID: Self.zoneID), action: .none)
        record["text"] = "Grüße \(name) ❤️"
        record["count"] = 1 << 53
        record["ratio"] = 0.1
        record["date"] = date
        record["bytes"] = Data([0, 255, 7])
        record["place"] = place
        record["other"] = other
        record["texts"] = ["a", "ü"]
        record["counts"] = [1, -2]
        record["ratios"] = [0.5, 1e300]
        record["dates"] = [date]
        record["places"] = [place, place]
        record["others"] = [other]
        record["file"] = try file("the file of \(name)")
        record.encryptedValues["secret"] = "the secret of \(name)"
        record.encryptedValues["secrets"] = ["one", name]
        return record
    }

    private func file(_ text: String) throws -> CKAsset {
        let url = scratch.appendingPathComponent(UUID().uuidString)
        try Data(text.utf8).write(to: url)
        return CKAsset(fileURL: url)
    }

    private func fillPublic() async throws {
        let database = try await device("bob", Self.container, .development).publicCloudDatabase
        let photo = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "photo"))
        photo["file"] = try file("a public file")
        photo["artwork"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "bob-0"), action: .deleteSelf)
        try await save([photo], to: database)
    }

    // MARK: Shares

    /// A hierarchy that bob joined and zoe did not, with a URL for one more; and a public zone that zoe joined.
    private func makeShares() async throws {
        let (mei, bob) = (try await mei(), try await device("bob", Self.container, .development))
        let zoe = try await device("zoe", Self.container, .development)
        for other in [bob, zoe] { _ = try await other.userRecordID() }
        let list = try record("list")
        let item = try record("item")
        item.parent = CKRecord.Reference(recordID: list.recordID, action: .none)
        let share = CKShare(
            rootRecord: list, shareID: CKRecord.ID(recordName: "list-share", zoneID: Self.zoneID))
        share[CKShare.SystemFieldKey.title] = "Groceries"
        for person in ["bob", "zoe"] {
            let participant = try await mei.shareParticipant(forEmailAddress: address(person))
            participant.permission = .readWrite
            share.addParticipant(participant)
        }
        share.addParticipant(CKShare.Participant.oneTimeURLParticipant())
        try await save([list, share, item], to: mei.privateCloudDatabase)
        _ = try await bob.accept(try await bob.shareMetadata(for: try await url(share, mei)))
        let zone = CKRecordZone.ID(zoneName: "Open")
        let open = CKShare(recordZoneID: zone)
        open.publicPermission = .readOnly
        try await save(
            [open, CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "shown", zoneID: zone))],
            to: mei.privateCloudDatabase)
        _ = try await zoe.accept(try await zoe.shareMetadata(for: try await url(open, mei)))
    }

    private func url(_ share: CKShare, _ owner: CKContainer) async throws -> URL {
        try #require((try await owner.privateCloudDatabase.record(for: share.recordID) as? CKShare)?.url)
    }

    // MARK: Subscriptions, uploads

    private func subscribe() async throws {
        let (mei, bob) = (try await mei(), try await device("bob", Self.container, .development))
        let query = CKQuerySubscription(
            recordType: "Artwork", predicate: NSPredicate(format: "year == %d", 1950), subscriptionID: "query",
            options: [.firesOnRecordCreation, .firesOnRecordUpdate])
        query.notificationInfo = CKSubscription.NotificationInfo(alertBody: "Look", desiredKeys: ["title"])
        let zone = CKRecordZoneSubscription(zoneID: Self.zoneID, subscriptionID: "zone")
        for subscription in [query, zone, CKDatabaseSubscription(subscriptionID: "database")] {
            _ = try await mei.privateCloudDatabase.save(subscription)
        }
        _ = try await mei.publicCloudDatabase.save(query)
        _ = try await bob.sharedCloudDatabase.save(CKDatabaseSubscription(subscriptionID: "shared"))
        for person in Self.people.prefix(2) {
            _ = try await post(person, "private/tokens/create", #"{"apnsEnvironment":"development"}"#)
        }
    }

    /// Leaves a file without a record.
    private func leaveUploads() async throws {
        let answer = try await post(
            "mei", "private/assets/upload",
            #"{"tokens":[{"recordName":"unsaved","recordType":"Upload","fieldName":"file"}]}"#)
        let token = try #require((answer["tokens"] as? [[String: Any]])?.first)
        _ = try await upload(try #require(token["url"] as? String), "an upload without a record")
    }

    // MARK: Unfinished work

    /// Saves a record with many dependents, which the last request before the kill deletes. Of those, a few have the others,
    /// because a record can have 750.
    func fillForUnfinishedWork() async throws {
        let root = #"{"operationType":"create","record":{"recordName":"root","recordType":"Root","fields":{}}}"#
        _ = try await post("bob", "private/records/modify", #"{"operations":[\#(root)]}"#)
        for group in 0..<8 {
            let operations = (0..<200).map { number in
                let owner = number == 0 ? "root" : "d\(group)-0"
                return
                    #"{"operationType":"create","record":{"recordName":"d\#(group)-\#(number)","recordType":"Dependent","#
                    + #""fields":{"owner":{"value":{"recordName":"\#(owner)","action":"DELETE_SELF"}},"number":{"value":1}}}}"#
            }
            let body = #"{"operations":[\#(operations.joined(separator: ","))]}"#
            _ = try await post("bob", "private/records/modify", body)
        }
    }

    /// Deletes the record. The server is to be killed at the answer.
    func beginUnfinishedWork() async throws {
        _ = try await post(
            "bob", "private/records/modify",
            #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"root"}}]}"#)
    }
}
