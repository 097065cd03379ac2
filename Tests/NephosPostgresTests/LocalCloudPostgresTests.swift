import CloudKit
import CloudKitLocal
import CloudKitLocalPostgres
import Foundation
import NephosPostgresTesting
import Testing

/// An app's code over PostgreSQL.
@Suite(.overPostgreSQL, .oneAtATime) struct LocalCloudPostgresTests {
    @Test func `a second cloud over the same database has the first one's records`() async throws {
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

    @Test func `an account deleted on one server is not readable through another that cached it`() async throws {
        let storage = try TestCluster.text.get()
        let container = "iCloud.\(UUID().uuidString)"
        let (here, elsewhere) = (
            try LocalCloud(storage: storage, acceptsUnsafeServer: true),
            try LocalCloud(storage: storage, acceptsUnsafeServer: true)
        )
        let known = elsewhere.container(container, account: "ann")
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a"))
        _ = try await known.privateCloudDatabase.save(record)
        let former = try await known.userRecordID()
        try await here.deleteAccount("ann", inContainer: container)
        // The first read finds out.
        let error = await #expect(throws: CKError.self) {
            _ = try await known.privateCloudDatabase.record(for: record.recordID)
        }
        #expect(error?.code == .notAuthenticated)
        let again = elsewhere.container(container, account: "ann")
        #expect(try await again.userRecordID() != former)
        let gone = await #expect(throws: CKError.self) {
            _ = try await again.privateCloudDatabase.record(for: record.recordID)
        }
        #expect(gone?.code == .unknownItem)
        for cloud in [here, elsewhere] { await cloud.close() }
    }

    @Test func `an unreachable database is an error that says so`() {
        let error = #expect(throws: LocalCloudError.self) { _ = try LocalCloud(storage: "host=/nowhere dbname=x") }
        #expect(error?.description.contains("PostgreSQL") == true)
    }
}
