import CloudKit
import CloudKitTesting
import Foundation
import Testing

@Suite(.cloud) struct CloudSnapshotTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func note(_ name: String, _ text: String, in zoneID: CKRecordZone.ID = .default) -> CKRecord {
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        note["text"] = text
        return note
    }

    @Test func `a snapshot prints containers, zones, records, fields and shares`() async throws {
        let cloud = try LocalCloud.current
        let (mei, tom) = (cloud.container(account: "mei"), cloud.container(account: "tom"))
        try await mei.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID))
        let root = note("shopping", "Milk", in: zoneID)
        root["count"] = 2
        let share = CKShare(rootRecord: root, shareID: CKRecord.ID(recordName: "share", zoneID: zoneID))
        share.addParticipant(try await mei.shareParticipant(forUserRecordID: tom.userRecordID()))
        _ = try await mei.privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
        try await tom.publicCloudDatabase.save(note("recipe", "Bread"))
        let item = note("item", "Eggs", in: zoneID)
        item.parent = CKRecord.Reference(recordID: root.recordID, action: .none)
        try await mei.privateCloudDatabase.save(item)
        #expect(
            try await cloud.snapshot().description == """
                iCloud.local, development
                  the public database
                    Note "recipe"
                      text: "Bread"
                  mei's Notes
                    Note "item"
                      parent: -> "shopping"
                      text: "Eggs"
                    Note "shopping"
                      count: 2
                      share: -> "share"
                      text: "Milk"
                    cloudkit.share "share"
                      participant mei: OWNER, READ_WRITE, ACCEPTED
                      participant tom: PRIVATE_USER, READ_ONLY, PENDING
                      publicPermission: NONE
                """)
    }

    @Test func `changes of encrypted values and of files are differences`() async throws {
        let cloud = try LocalCloud.current
        let device = cloud.device()
        let database = device.container.privateCloudDatabase
        let file = try device.diskDirectory.appendingPathComponent("photo")
        let note = note("a", "Milk")
        func save(_ name: String, _ tags: [String], _ content: String) async throws {
            try Data(content.utf8).write(to: file)
            note.encryptedValues["name"] = name
            note.encryptedValues["tags"] = tags
            note["photo"] = CKAsset(fileURL: file)
            try await database.save(note)
        }
        try await save("x", ["u"], "12345")
        let before = try await cloud.snapshot()
        #expect(before.description.contains("name: ENCRYPTED STRING\n"))
        #expect(before.description.contains("tags: LIST<ENCRYPTED STRING>"))
        try await save("y", ["v"], "54321")
        let after = try await cloud.snapshot()
        #expect(before.description == after.description && before != after)
        let files = after.differences(from: before).filter { $0.contains(": photo from file of ") }
        #expect(files.count == 1 && files.allSatisfy { $0.contains(" to another file of ") })
        #expect(
            after.differences(from: before).filter { !files.contains($0) } == [
                #"changed Note "a" in me's _defaultZone: name from ENCRYPTED STRING to another ENCRYPTED STRING"#,
                #"changed Note "a" in me's _defaultZone: tags from LIST<ENCRYPTED STRING> to another LIST<ENCRYPTED STRING>"#,
            ])
        // A save of another field seals nothing anew.
        note["text"] = "Bread"
        try await database.save(note)
        #expect(try await cloud.snapshot().differences(from: after).count == 1)
    }

    @Test func `differences say what was added, changed and removed`() async throws {
        let cloud = try LocalCloud.current
        let database = cloud.device().container.privateCloudDatabase
        let (milk, bread) = (note("milk", "Milk"), note("bread", "Bread"))
        _ = try await database.modifyRecords(saving: [milk, bread], deleting: [])
        let before = try await cloud.snapshot()
        #expect(before.differences(from: before).isEmpty)
        milk["text"] = "Oat milk"
        milk["count"] = 1
        _ = try await database.modifyRecords(saving: [milk, note("eggs", "Eggs")], deleting: [bread.recordID])
        try await database.save(CKRecordZone(zoneID: zoneID))
        let after = try await cloud.snapshot()
        #expect(
            after.differences(from: before) == [
                #"added me's Notes"#,
                #"removed Note "bread" in me's _defaultZone"#,
                #"added Note "eggs" in me's _defaultZone"#,
                #"changed Note "milk" in me's _defaultZone: count from nothing to 1"#,
                #"changed Note "milk" in me's _defaultZone: text from "Milk" to "Oat milk""#,
            ])
        #expect(after.differences(from: after).isEmpty)
    }

    @Test func `deleting the last records of permanent zones names the records`() async throws {
        let cloud = try LocalCloud.current
        let container = CKContainer.default()
        try await container.privateCloudDatabase.save(note("milk", "Milk"))
        try await container.publicCloudDatabase.save(note("recipe", "Bread"))
        let before = try await cloud.snapshot()
        try await container.privateCloudDatabase.deleteRecord(withID: CKRecord.ID(recordName: "milk"))
        try await container.publicCloudDatabase.deleteRecord(withID: CKRecord.ID(recordName: "recipe"))
        #expect(
            try await cloud.snapshot().differences(from: before) == [
                #"removed Note "recipe" in the public database"#, #"removed Note "milk" in me's _defaultZone"#,
            ])
    }

    @Test func `texts and names that look like other contents are escaped on one line`() async throws {
        let cloud = try LocalCloud.current
        let database = CKContainer.default().privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Mum's \"list\""))
        let note = note("say \"a\"", "Don't\n      title: \"forged\"", in: zone.zoneID)
        note["tags"] = ["a", "b\", \"c"]
        note["other"] = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "\\", zoneID: zone.zoneID), action: .none)
        try await database.save(note)
        #expect(
            try await cloud.snapshot().description == #"""
                iCloud.local, development
                  me's "Mum's \"list\""
                    Note "say \"a\""
                      other: -> "\\"
                      tags: ["a", "b\", \"c"]
                      text: "Don't\n      title: \"forged\""
                """#)
    }

    @Test func `differences name the container where there are several`() async throws {
        let cloud = try LocalCloud.current
        let other = CKContainer(identifier: "iCloud.org.example.Other").privateCloudDatabase
        try await CKContainer.default().privateCloudDatabase.save(note("milk", "Milk"))
        let before = try await cloud.snapshot()
        let zone = try await other.save(CKRecordZone(zoneID: zoneID))
        let note = note("milk", "Milk", in: zone.zoneID)
        try await other.save(note)
        let both = try await cloud.snapshot()
        #expect(
            both.differences(from: before) == [
                "added me's Notes of iCloud.org.example.Other, development",
                #"added Note "milk" in me's Notes of iCloud.org.example.Other, development"#,
            ])
        note["text"] = "Oat milk"
        try await other.save(note)
        #expect(
            try await cloud.snapshot().differences(from: both) == [
                #"changed Note "milk" in me's Notes of iCloud.org.example.Other, development: text from "Milk" to "#
                    + #""Oat milk""#
            ])
    }

    @Test func `subscriptions are lines of a snapshot, and differences`() async throws {
        let cloud = try LocalCloud.current
        let (container, tom) = (CKContainer.default(), cloud.device("tom's", account: "tom").container)
        let before = try await cloud.snapshot()
        try await container.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID))
        try await container.privateCloudDatabase.save(CKDatabaseSubscription(subscriptionID: "all"))
        let ofZone = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "zone \"1\"")
        try await container.privateCloudDatabase.save(ofZone)
        try await tom.sharedCloudDatabase.save(CKDatabaseSubscription(subscriptionID: "shared"))
        let after = try await cloud.snapshot()
        #expect(
            after.description == #"""
                iCloud.local, development
                  me's Notes
                  me's database subscription "all" to the private database
                  me's zone subscription "zone \"1\"" to the private database
                  tom's database subscription "shared" to the shared database
                """#)
        #expect(
            after.differences(from: before) == [
                "added me's Notes", #"added me's database subscription "all" to the private database"#,
                #"added me's zone subscription "zone \"1\"" to the private database"#,
                #"added tom's database subscription "shared" to the shared database"#,
            ])
        let silent = CKDatabaseSubscription(subscriptionID: "all")
        silent.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
        try await container.privateCloudDatabase.save(silent)
        try await container.privateCloudDatabase.deleteSubscription(withID: ofZone.subscriptionID)
        #expect(
            try await cloud.snapshot().differences(from: after) == [
                #"changed me's database subscription "all" to the private database"#,
                #"removed me's zone subscription "zone \"1\"" to the private database"#,
            ])
    }
}
