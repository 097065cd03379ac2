import CloudKit
import CloudKitTesting
import Testing

/// `unknownItem` of a record that others refer to is a deletion of all of them.
@Suite(.cloud) struct FaultDeletionTests {
    private func failure<Value>(_ body: () async throws -> Value) async -> CKError.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? CKError)?.code
        }
    }

    private func save(_ name: String, in zone: CKRecordZone.ID, _ change: (CKRecord) -> Void) async throws -> CKRecord {
        let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        change(record)
        return try await CKContainer.default().privateCloudDatabase.save(record)
    }

    @Test(arguments: [CKRecordZone.default().zoneID, CKRecordZone.ID(zoneName: "Z")], [false, true])
    func `another device deletes a record with those below it`(zone: CKRecordZone.ID, isSave: Bool) async throws {
        let database = CKContainer.default().privateCloudDatabase
        if zone.zoneName == "Z" { try await database.save(CKRecordZone(zoneID: zone)) }
        let root = try await save("root", in: zone) { _ in }
        let list = try await save("list", in: zone) { $0.setParent(root) }
        _ = try await save("z", in: zone) { $0.setParent(list) }
        // Deleted with the list, and the parent of another.
        let owned = try await save("owned", in: zone) {
            $0["list"] = CKRecord.Reference(record: list, action: .deleteSelf)
        }
        _ = try await save("a", in: zone) { $0.setParent(owned) }
        _ = try await save("plain", in: zone) { $0["list"] = CKRecord.Reference(record: list, action: .none) }

        try LocalCloud.current.fail(isSave ? .save : .fetch, record: "list", with: .unknownItem)
        list["title"] = "Milk"
        let code = await failure {
            if isSave { try await database.save(list) } else { try await database.record(for: list.recordID) }
        }
        #expect(code == .unknownItem)
        let names = ["root", "list", "z", "owned", "a", "plain"]
        var left: [String] = []
        for name in names {
            let recordID = CKRecord.ID(recordName: name, zoneID: zone)
            if await failure({ try await database.record(for: recordID) }) == nil { left.append(name) }
        }
        #expect(left == ["root", "plain"])
    }

    @Test func `a record of the public database that is a parent is unknown to one request alone`() async throws {
        let database = CKContainer.default().publicCloudDatabase
        let list = try await database.save(CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "list")))
        let item = CKRecord(recordType: "Item")
        item.setParent(list)
        try await database.save(item)
        try LocalCloud.current.fail(.fetch, record: "list", with: .unknownItem)
        #expect(await failure { try await database.record(for: list.recordID) } == .unknownItem)
        #expect(await failure { try await database.record(for: list.recordID) } == nil)
    }
}
