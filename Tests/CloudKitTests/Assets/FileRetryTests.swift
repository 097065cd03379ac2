import CloudKitLocal
import Foundation
import NephosWire
import Testing

@testable import CloudKit

/// Batches of which the service refuses an item because it no longer has the item's file: they are sent again as a whole.
@Suite struct FileRetryTests {
    private static let zoneID = CKRecordZone.ID(zoneName: "Z")

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: Self.zoneID) }

    private func note(_ name: String, parent: String? = nil) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: id(name))
        record["title"] = name
        if let parent { record.parent = CKRecord.Reference(recordID: id(parent), action: .none) }
        return record
    }

    private func photo(_ name: String, parent: String? = nil, _ files: TestFiles) throws -> CKRecord {
        let record = note(name, parent: parent)
        record["image"] = CKAsset(fileURL: try files.file("mine"))
        return record
    }

    /// A device with another one that can change its records, and the names of the items of each records/modify of the first.
    private func devices() async throws -> (database: CKDatabase, other: CKDatabase, requests: Box<[Set<String>]>) {
        let container = try LocalCloud().container(account: "mei")
        let service = HostileService(container)
        let requests = Box<[Set<String>]>([])
        service.afterModifyingRecords.value = { request, _ in
            requests.value.append(Set(request.operations.compactMap(\.record.recordName)))
        }
        let database = service.container.privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: Self.zoneID))
        return (database, container.privateCloudDatabase, requests)
    }

    @Test(arguments: [true, false], [true, false])
    func `children and deletions are sent again with the file that the server lacked`(
        isAtomic: Bool, isReversed: Bool
    ) async throws {
        let files = try TestFiles()
        let (database, other, requests) = try await devices()
        let (root, moved) = (try photo("root", files), try photo("moved", parent: "box", files))
        try await database.saveAll([root, note("box"), moved])
        _ = try await other.deleteRecord(withID: root.recordID)
        let replaced = try await other.record(for: moved.recordID)
        replaced["image"] = CKAsset(fileURL: try files.file("theirs"))
        _ = try await other.save(replaced)
        requests.value = []
        root["title"] = "again"
        moved.parent = CKRecord.Reference(recordID: root.recordID, action: .none)
        var records = [root, note("child", parent: "root"), note("beside"), moved]
        if isReversed { records.reverse() }
        let results = try await database.modifyRecords(
            saving: records, deleting: [id("box")], savePolicy: .allKeys, atomically: isAtomic)
        #expect(results.saveResults.values.allSatisfy { $0.error == nil }, "\(results.saveResults)")
        #expect(results.deleteResults.values.allSatisfy { $0.error == nil }, "\(results.deleteResults)")
        #expect(requests.value.count > 1, "no item lacked its file")
        if isAtomic {
            #expect(requests.value.allSatisfy { $0.count == 5 }, "\(requests.value)")
        } else {
            #expect(requests.value.filter { $0.contains("beside") }.count == 1, "\(requests.value)")
        }
        #expect(try await other.record(for: id("child")).parent?.recordID == root.recordID)
        for name in ["root", "moved"] { #expect(try await other.record(for: id(name)).text("image") == "mine") }
        await expectFailure(.unknownItem) { _ = try await other.record(for: id("box")) }
    }

    @Test(arguments: [true, false])
    func `an atomic batch with another failure saves nothing, although the file is sent`(
        isReversed: Bool
    ) async throws {
        let files = try TestFiles()
        let (database, other, _) = try await devices()
        let photo = try photo("photo", files)
        try await database.saveAll([photo])
        let replaced = try await other.record(for: photo.recordID)
        replaced["image"] = CKAsset(fileURL: try files.file("theirs"))
        _ = try await other.save(replaced)
        photo["title"] = "again"
        var records = [photo, note("orphan", parent: "nobody"), note("beside")]
        if isReversed { records.reverse() }
        let results = try await database.modifyRecords(saving: records, deleting: [], savePolicy: .allKeys)
        let codes = results.saveResults.map { ($0.key.recordName, ($0.value.error as? CKError)?.code) }
        #expect(
            Dictionary(uniqueKeysWithValues: codes) == [
                "photo": .batchRequestFailed, "orphan": .referenceViolation, "beside": .batchRequestFailed,
            ])
        #expect(try await other.record(for: photo.recordID).text("image") == "theirs")
        await expectFailure(.unknownItem) { _ = try await other.record(for: id("beside")) }
    }
}
