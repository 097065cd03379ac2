import CloudKit

let database = CKContainer(identifier: "iCloud.org.example.App").privateCloudDatabase

let note = CKRecord(recordType: "Note")
note["title"] = "Hello from Linux"
note["stars"] = 5
try await database.save(note)

let fetched = try await database.record(for: note.recordID)
let title: String? = fetched["title"]
print(title ?? "no title", "saved", fetched.creationDate != nil)
