import CloudKit
import CloudKitLocal
import Testing

@Test func `a note is saved`() async throws {
    let container = try CKContainer.local()
    let database = container.privateCloudDatabase
    let note = try await database.save(CKRecord(recordType: "Note"))
    #expect(note.recordChangeTag != nil)
}
