import CloudKit
import CloudKitLocal
import Testing

/// The code of Documentation/Encryption.md.
@Suite struct EncryptionTests {
    @Test func `encrypted values are set and read like others`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let record = CKRecord(recordType: "Patient")
        record.encryptedValues["name"] = "Maria Ruiz"
        _ = try await database.save(record)
        let fetched = try await database.record(for: record.recordID)
        let name = fetched.encryptedValues["name"] as? String  // on every device of the account
        #expect(name == "Maria Ruiz")
    }
}
