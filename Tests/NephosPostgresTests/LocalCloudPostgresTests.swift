import CloudKit
import CloudKitLocal
import CloudKitLocalPostgres
import NephosPostgresTesting
import Testing

/// An app's code over PostgreSQL.
@Suite(.overPostgreSQL, .oneAtATime) struct LocalCloudPostgresTests {
    @Test("What one cloud saved, the next one over the same database has")
    func keeps() async throws {
        let storage = try TestCluster.text.get()
        let container = "iCloud.\(UUID().uuidString)"
        let first = try LocalCloud(storage: storage, acceptsUnsafeServer: true)
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a"))
        record["title"] = "kept"
        _ = try await first.container(container).privateCloudDatabase.save(record)
        await first.close()
        let second = try LocalCloud(storage: storage, acceptsUnsafeServer: true)
        let found = try await second.container(container).privateCloudDatabase.record(for: record.recordID)
        #expect(found["title"] == "kept")
        await second.close()
    }

    @Test("A database that cannot be reached is an error that says so")
    func unreachable() {
        let error = #expect(throws: LocalCloudError.self) { _ = try LocalCloud(storage: "host=/nowhere dbname=x") }
        #expect(error?.description.contains("PostgreSQL") == true)
    }
}
