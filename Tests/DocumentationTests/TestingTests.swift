import CloudKit
import CloudKitLocal
import Testing

/// The code of Documentation/Testing.md.
@Suite struct TestingTests {
    @Test func `an app's unchanged code runs on a cloud in the process`() async throws {
        // In a process of its own: the default container is the whole process's, and other tests use it too.
        await #expect(processExitsWith: .success) {
            let cloud = try LocalCloud()
            cloud.becomeDefault()

            let store = NoteStore()
            try await store.add("Milk")
            try await store.add("Bread")
            #expect(try await store.titles() == ["Bread", "Milk"])

            cloud.switchDefaultAccount(to: "tom")
            #expect(try await store.titles() == [])
        }
    }

    @Test func `renaming a note keeps its text`() async throws {
        let database = try CKContainer.local().privateCloudDatabase

        let note = CKRecord(recordType: "Note")
        note["title"] = "Draft"
        note["text"] = "Once upon a time"
        try await database.save(note)

        note["title"] = "Final"
        try await database.save(note)

        let fetched = try await database.record(for: note.recordID)
        #expect(fetched["title"] == "Final")
        #expect(fetched["text"] == "Once upon a time")
    }

    @Test func `two edits of one note are a conflict`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "shopping"))
        note["text"] = "Milk"
        try await database.save(note)

        let mine = try await database.record(for: note.recordID)
        let theirs = try await database.record(for: note.recordID)
        theirs["text"] = "Milk, bread"
        try await database.save(theirs)

        mine["text"] = "Milk, eggs"
        let conflict = await #expect(throws: CKError.self) { try await database.save(mine) }
        #expect(conflict?.code == .serverRecordChanged)
        #expect(conflict?.ancestorRecord?["text"] == "Milk")
        #expect(conflict?.clientRecord?["text"] == "Milk, eggs")
        let merged = try #require(conflict?.serverRecord)  // has the newest change tag
        #expect(merged["text"] == "Milk, bread")

        merged["text"] = "Milk, bread, eggs"
        try await database.save(merged)
        #expect(try await database.record(for: note.recordID)["text"] == "Milk, bread, eggs")
    }

    @Test func `every account reads the public database and its own private one`() async throws {
        let cloud = try LocalCloud()
        let mei = cloud.container(account: "mei")
        let tom = cloud.container(account: "tom")
        let nobody = cloud.container(account: nil)

        let diary = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "diary"))
        try await mei.privateCloudDatabase.save(diary)
        let hidden = await #expect(throws: CKError.self) {
            try await tom.privateCloudDatabase.record(for: diary.recordID)
        }
        #expect(hidden?.code == .unknownItem)

        let recipe = CKRecord(recordType: "Recipe", recordID: CKRecord.ID(recordName: "bread"))
        try await mei.publicCloudDatabase.save(recipe)
        let read = try await nobody.publicCloudDatabase.record(for: recipe.recordID)
        #expect(read.creatorUserRecordID == (try await mei.userRecordID()))

        read["title"] = "Bread"
        let refused = await #expect(throws: CKError.self) { try await tom.publicCloudDatabase.save(read) }
        #expect(refused?.code == .permissionFailure)
    }

    @Test func `notes survive a restart`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        let note = CKRecord(recordType: "Note")

        let first = try LocalCloud(directory: directory)
        try await first.container().privateCloudDatabase.save(note)
        await first.close()

        let second = try LocalCloud(directory: directory)
        let fetched = try await second.container().privateCloudDatabase.record(for: note.recordID)
        #expect(fetched.recordChangeTag == note.recordChangeTag)
        await second.close()
    }

    @Test func `deleting a list deletes its items`() async throws {
        let cloud = try LocalCloud()
        let database = cloud.container().privateCloudDatabase
        let list = CKRecord(recordType: "List")
        let item = CKRecord(recordType: "Item")
        item["list"] = CKRecord.Reference(record: list, action: .deleteSelf)
        _ = try await database.modifyRecords(saving: [list, item], deleting: [])

        try await database.deleteRecord(withID: list.recordID)
        await cloud.settle()  // in the default zone, what depends on a record goes in the background

        let gone = await #expect(throws: CKError.self) { try await database.record(for: item.recordID) }
        #expect(gone?.code == .unknownItem)
    }

    @Test func `too many records are refused`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let notes = (0...400).map { _ in CKRecord(recordType: "Note") }

        let refused = await #expect(throws: CKError.self) {
            try await database.modifyRecords(saving: notes, deleting: [])
        }
        #expect(refused?.code == .limitExceeded)  // 400 are CloudKit's limit
    }

    @Test func `production accepts what was deployed`() async throws {
        let cloud = try LocalCloud()
        try await cloud.importSchema(
            """
            DEFINE SCHEMA
                RECORD TYPE Note (
                    "___recordID" REFERENCE QUERYABLE,
                    title         STRING QUERYABLE
                );
            """)
        try await cloud.deploySchema()
        let database = cloud.container(environment: .production).privateCloudDatabase

        let note = CKRecord(recordType: "Note")
        note["title"] = "Milk"
        try await database.save(note)

        note["colour"] = "red"  // never declared
        let refused = await #expect(throws: CKError.self) { try await database.save(note) }
        #expect(refused?.code == .invalidArguments)
        #expect(refused?.localizedDescription.contains("'colour'") == true)

        let byTitle = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        byTitle.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]  // declared, but not SORTABLE
        let unsorted = await #expect(throws: CKError.self) { try await database.records(matching: byTitle) }
        #expect(unsorted?.localizedDescription.contains("not marked sortable") == true)
    }

    @Test func `another device is notified`() async throws {
        let cloud = try LocalCloud()
        let phone = cloud.container()
        let tablet = cloud.container()  // the same account's: each container of a cloud is a device
        let zone = try await phone.privateCloudDatabase.save(CKRecordZone(zoneName: "Notes"))
        try await tablet.privateCloudDatabase.save(
            CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "notes"))

        let notifications = try await tablet.notifications()  // from here on nothing is missed
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zone.zoneID))
        try await phone.privateCloudDatabase.save(note)
        for await notification in notifications {
            #expect((notification as? CKRecordZoneNotification)?.recordZoneID == zone.zoneID)
            break
        }
    }

    @Test func `two devices agree`() async throws {
        let cloud = try LocalCloud()
        let (phone, tablet) = (NotesDevice(), NotesDevice())
        let phoneEngine = await phone.start(cloud.container().privateCloudDatabase)
        let tabletEngine = await tablet.start(cloud.container().privateCloudDatabase)

        await phone.write("Milk", to: "shopping")
        try await phoneEngine.sendChanges()
        try await tabletEngine.fetchChanges()
        #expect(await tablet.notes == ["shopping": "Milk"])

        await phone.write("Milk, bread", to: "shopping")
        await tablet.write("Milk, eggs", to: "shopping")
        try await phoneEngine.sendChanges()
        await #expect(throws: CKError.self) { try await tabletEngine.sendChanges() }  // a conflict
        #expect(await tablet.notes == ["shopping": "Milk, bread"])
    }
}
