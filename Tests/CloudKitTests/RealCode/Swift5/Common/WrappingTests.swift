import CloudKit
import CloudKitLocal
import Testing

@Suite struct RealCodeWrappingTests {
    private func use(_ container: some WrappedContainer) async throws -> String? {
        guard try await container.accountStatus() == .available else { return nil }
        let record = CKRecord(recordType: "Note")
        record["title"] = "wrapped"
        _ = try await container.privateCloudDatabase.put(record)
        return try await container.database(holding: record.recordID).record(for: record.recordID)["title"] as? String
    }

    @Test func `containers, databases and engines adopt an app's protocols unchanged`() async throws {
        #expect(try await use(CKContainer.local()) == "wrapped")
        let made = CKContainer.make(identifier: "Real container")
        #expect(type(of: made) == CKContainer.self && made.containerIdentifier == "Real container")
    }

    @Test func `an operation has a database before it is added to one`() throws {
        #expect(CKModifyRecordsOperation().database?.databaseScope == .private)
        let container = try CKContainer.local()
        let operation = CKFetchRecordsOperation(recordIDs: [])
        operation.configuration.container = container
        #expect(operation.database === container.privateCloudDatabase)
        operation.database = container.publicCloudDatabase
        #expect(operation.database === container.publicCloudDatabase)
    }

    @Test func `an app's own key is archived with a record`() throws {
        let record = CKRecord(recordType: "Note")
        record._mark = "7"
        let archived = try #require(try ArchivedRecord(data: ArchivedRecord(record).data()))
        #expect(archived.record._mark == "7" && archived.record.recordID == record.recordID)
    }

    @Test func `records merge field by field, whatever their fields hold`() {
        let (older, newer) = (Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: 2))
        let theirs = CKRecord(recordType: "Note")
        for key in ["text", "flag", "number", "large", "data", "date"] { theirs.encryptedValues[changeOf: key] = newer }
        theirs.encryptedValues["text"] = "new"
        theirs.encryptedValues["flag"] = true
        theirs.encryptedValues["number"] = 1.5
        theirs.encryptedValues["large"] = UInt64(7)
        theirs.encryptedValues["data"] = Data([1])
        theirs.encryptedValues["date"] = older
        let mine = CKRecord(recordType: "Note")
        mine.merge("old", forKey: "text", changedAt: older)
        let keys = ["data", "date", "flag", "large", "missing", "number", "text"]
        #expect(mine.merge(theirs, keys: keys) == keys.filter { $0 != "missing" })
        #expect(mine.merge(theirs, keys: keys) == [])
        #expect(mine.encryptedValues["text"] == "new" && mine.encryptedValues["large"] == UInt64(7))
        #expect(!mine.merge("new", forKey: "text", changedAt: .distantFuture))
    }
}
