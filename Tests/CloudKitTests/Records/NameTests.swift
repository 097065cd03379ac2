import CloudKit
import CloudKitLocal
import Testing

/// Invalid names are allowed until they are sent: apps use them as placeholders and in comparisons.
@Suite struct NameTests {
    private let database: CKDatabase

    init() throws { database = try CKContainer.local().privateCloudDatabase }

    private static let badNames = ["_mine", "naïve", "line\nbreak", String(repeating: "x", count: 256)]

    @Test(arguments: badNames) func `a record with a bad name cannot be saved`(name: String) async throws {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
        #expect(record.recordID == CKRecord.ID(recordName: name) && record.recordID.recordName == name)
        let error = await #expect(throws: CKError.self) { try await database.save(record) }
        #expect(error?.code == .invalidArguments)
    }

    @Test(arguments: badNames) func `a record with a bad name is not found`(name: String) async throws {
        let error = await #expect(throws: CKError.self) {
            try await database.record(for: CKRecord.ID(recordName: name))
        }
        #expect(error?.code == .unknownItem)
    }

    @Test(arguments: badNames) func `a zone with a bad name cannot be saved`(name: String) async throws {
        let error = await #expect(throws: CKError.self) { try await database.save(CKRecordZone(zoneName: name)) }
        #expect(error?.code == .invalidArguments)
    }

    @Test func `a user's name in a reference belongs to no account`() async throws {
        let record = CKRecord(recordType: "Note")
        record["user"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "_someone"), action: .none)
        try await database.save(record)
        let user = try await database.record(for: record.recordID)["user"] as? CKRecord.Reference
        #expect(user?.recordID.recordName == "_someone")
    }

    @Test func `a system field of a record is local until it is saved`() async throws {
        let record = CKRecord(recordType: "Note")
        record["_tag"] = "1"
        #expect(record["_tag"] == "1" && record.allKeys() == ["_tag"])
        let error = await #expect(throws: CKError.self) { try await database.save(record) }
        #expect(error?.code == .permissionFailure)
        #expect(error?.localizedDescription.contains("Unprivileged attempt to insert a system field: _tag") == true)
    }

    @Test func `a system record type cannot be saved`() async throws {
        let error = await #expect(throws: CKError.self) { try await database.save(CKRecord(recordType: "_Secret")) }
        #expect(error?.code == .invalidArguments)
    }

    @Test func `an empty list makes no field`() async throws {
        let record = CKRecord(recordType: "Note")
        record["tags"] = [String]()
        let error = await #expect(throws: CKError.self) { try await database.save(record) }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains("cannot use an empty list to initialize a new field") == true)
        record["tags"] = ["a"]
        try await database.save(record)
        record["tags"] = [String]()
        try await database.save(record)
        #expect(try await database.record(for: record.recordID)["tags"] == [String]())
    }
}
