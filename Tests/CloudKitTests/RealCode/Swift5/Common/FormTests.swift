import CloudKit
import CloudKitLocal
import Testing

@Suite struct RealCodeFormTests {
    private let database: CKDatabase
    private let container: CKContainer

    init() throws {
        container = try CKContainer.local()
        database = container.privateCloudDatabase
    }

    @Test func `models are saved in chunks and fetched page by page`() async throws {
        try await database.save(CKRecordZone(zoneID: .tasks))
        let due = Date(timeIntervalSince1970: 1_700_000_000)
        let items = (1...7).map { TaskItem(title: "task \($0)", done: $0 % 2 == 0, due: $0 == 3 ? due : nil) }
        #expect(try await database.saveInChunks(items.map(\.record), of: 3).isEmpty)
        #expect(try await database.all(TaskItem.self, pageSize: 2) == items)
        let open = NSPredicate(format: "done == %@", NSNumber(value: false))
        #expect(try await database.all(TaskItem.self, where: open, pageSize: 100).map(\.title).count == 4)
    }

    @Test func `operations wait for their dependencies in an app's queue`() async throws {
        try await database.save(CKRecordZone(zoneID: .tasks))
        let items = (1...5).map { TaskItem(title: "task \($0)") }
        #expect(try await database.saveInChunks(items.map(\.record), of: 5).isEmpty)
        let (names, errors) = await withCheckedContinuation { continuation in
            Chains.changedRecords(in: database) { continuation.resume(returning: ($0, $1)) }
        }
        #expect(Set(names) == Set(items.map(\.id.recordName)) && errors.isEmpty)
    }

    @Test func `account changes arrive as an async sequence of notifications`() async throws {
        let statuses = try await Chains.statuses(of: container, changes: 2) {
            for _ in 0..<2 { NotificationCenter.default.post(name: .CKAccountChanged, object: nil) }
        }
        #expect(statuses.allSatisfy { $0 == .available } && statuses.count == 3)
    }

    @Test func `lists of IDs are decoded from archives`() throws {
        let ids = [CKRecord.ID(recordName: "a"), CKRecord.ID(recordName: "b", zoneID: .tasks)]
        #expect(try FormArchives.ids(ids) == [ids, ids])
    }

    @Test func `an asset with a missing file fails with assetFileNotFound`() async throws {
        let record = CKRecord(recordType: "Photo")
        record["image"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/image.png"))
        await #expect { try await database.save(record) } throws: { CKError.assetFileNotFound ~= $0 }
    }
}
