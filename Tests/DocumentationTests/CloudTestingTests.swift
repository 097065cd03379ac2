import CloudKit
import CloudKitTesting
import Foundation
import Testing

// The code of Documentation/Testing.md about CloudKitTesting.

@Suite(.cloud) struct NoteStoreTests {
    @Test func `notes are listed by title`() async throws {
        let store = NoteStore()
        try await store.add("Milk")
        try await store.add("Bread")
        #expect(try await store.titles() == ["Bread", "Milk"])
    }

    @Test func `a note that could not be saved is not listed`() async throws {
        let cloud = try LocalCloud.current
        cloud.fail(.save, type: "Note", with: .networkFailure)
        let store = NoteStore()
        await #expect(throws: CKError.self) { try await store.add("Milk") }
        #expect(try await store.titles() == [])
    }
}

@Suite struct CloudTestingTests {
    @Test func `a script has a cloud for some code`() async throws {
        try await withCloud { cloud in
            try await NoteStore().add("Milk")
            print(try await cloud.snapshot())
        }
    }

    @Test(.cloud) func `a note arrives once the tablet is online`() async throws {
        let cloud = try LocalCloud.current
        let phone = cloud.device("phone", account: "mei")
        let tablet = cloud.device("tablet", account: "mei")
        tablet.isOffline = true

        try await phone.run { try await NoteStore().add("Milk") }
        let offline = await #expect(throws: CKError.self) { try await tablet.run { try await NoteStore().titles() } }
        #expect(offline?.code == .networkUnavailable)

        tablet.isOffline = false
        #expect(try await tablet.run { try await NoteStore().titles() } == ["Milk"])

        phone.terminate()  // what it had sent is saved, and it hears of nothing more
        phone.relaunch()
        #expect(try await phone.run { try await NoteStore().titles() } == ["Milk"])
    }

    @Test(.cloud) func `faults`() async throws {
        let cloud = try LocalCloud.current
        let database = CKContainer.default().privateCloudDatabase
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "shopping"))

        // The request is saved, and its answer gets lost.
        cloud.fail(.save, type: "Note", at: .afterCommit, with: .networkFailure)
        await #expect(throws: CKError.self) { try await database.save(note) }
        let saved = try await database.record(for: note.recordID)

        // Another device saves the record first: the error has the three records, as always.
        cloud.fail(.save, record: "shopping", with: .serverRecordChanged)
        saved["text"] = "Milk"
        let conflict = await #expect(throws: CKError.self) { try await database.save(saved) }
        #expect(conflict?.serverRecord?.recordChangeTag != saved.recordChangeTag)

        // A request is throttled. What an app asks before the time is over fails without being sent.
        cloud.fail(.query, with: .requestRateLimited, retryAfter: 60)
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        for _ in 0..<2 {
            let throttled = await #expect(throws: CKError.self) { try await database.records(matching: query) }
            #expect(throttled?.code == .requestRateLimited)
        }
        cloud.clock.advance(by: .seconds(60))
        #expect(try await database.records(matching: query).matchResults.count == 1)
    }

    @Test(.cloud) func `a note that is edited on two devices is in conflict`() async throws {
        let cloud = try LocalCloud.current
        let phone = cloud.device("phone").container.privateCloudDatabase
        let tablet = cloud.device("tablet").container.privateCloudDatabase
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "shopping"))

        let held = cloud.hold(.save, record: "shopping", device: "phone")
        let saves = cloud.requests(.save)
        let saving = Task { try await phone.save(note) }
        try await held.arrived()  // the request is on its way, and the service has not seen it
        try await tablet.save(CKRecord(recordType: "Note", recordID: note.recordID))
        held.release()
        let conflict = await #expect(throws: CKError.self) { try await saving.value }
        #expect(conflict?.code == .serverRecordChanged)
        #expect(saves.count == 2)
    }

    @Test(.cloud) func `the service's times follow the clock`() async throws {
        let clock = try LocalCloud.current.clock
        let database = CKContainer.default().privateCloudDatabase
        let old = try await database.save(CKRecord(recordType: "Note"))
        clock.advance(by: .seconds(86_400))
        let new = try await database.save(CKRecord(recordType: "Note"))
        let (before, after) = try (#require(old.modificationDate), #require(new.modificationDate))
        #expect(after.timeIntervalSince(before) >= 86_400)
    }

    @Test(.cloud(limits: .tight)) func `an app that saves all at once fails with six notes`() async throws {
        let database = CKContainer.default().privateCloudDatabase
        let notes = (0..<6).map { _ in CKRecord(recordType: "Note") }
        let refused = await #expect(throws: CKError.self) {
            try await database.modifyRecords(saving: notes, deleting: [])
        }
        #expect(refused?.code == .limitExceeded)
    }

    @Test(.cloud) func `renaming changes the title alone`() async throws {
        let cloud = try LocalCloud.current
        let database = CKContainer.default().privateCloudDatabase
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "shopping"))
        note["title"] = "Draft"
        note["text"] = "Milk"
        try await database.save(note)
        let before = try await cloud.snapshot()
        #expect(
            before.description == """
                iCloud.local, development
                  me's _defaultZone
                    Note "shopping"
                      text: "Milk"
                      title: "Draft"
                """)

        note["title"] = "Final"
        try await database.save(note)
        #expect(
            try await cloud.snapshot().differences(from: before) == [
                #"changed Note "shopping" in me's _defaultZone: title from "Draft" to "Final""#
            ])
    }
}
