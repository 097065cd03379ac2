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
}
