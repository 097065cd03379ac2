import CloudKitTesting
import Foundation
import NephosWire
import Testing

@testable import CloudKit

/// Batches of which the service refuses an item because keys are missing: they are sent again as a whole.
@Suite struct RefusedBatchTests: SharedValuesChecks {
    private typealias Cloud = SharedValuesTests.Cloud

    private func plain(_ name: String, parent: String? = nil, in zoneID: CKRecordZone.ID = Cloud.zoneID) -> CKRecord {
        let record = CKRecord(recordType: "Item", recordID: id(name, zoneID))
        record["title"] = name
        if let parent { record.parent = CKRecord.Reference(recordID: id(parent, zoneID), action: .none) }
        return record
    }

    /// A folder with an encrypted value under the shared list, and a record without one in the folder.
    private func folder(in zoneID: CKRecordZone.ID = Cloud.zoneID, childFirst: Bool = false) -> [CKRecord] {
        let folder = plain("folder", parent: "list", in: zoneID)
        folder.encryptedValues["text"] = "Folder"
        let inside = plain("inside", parent: "folder", in: zoneID)
        return childFirst ? [inside, folder] : [folder, inside]
    }

    private func codes(
        _ results: (
            saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
            deleteResults: [CKRecord.ID: Result<Void, any Error>]
        )
    ) -> [String: CKError.Code] {
        var codes: [String: CKError.Code] = [:]
        for (id, result) in results.saveResults { codes[id.recordName] = (result.error as? CKError)?.code }
        for (id, result) in results.deleteResults { codes[id.recordName] = (result.error as? CKError)?.code }
        return codes
    }

    /// The names of the items of each records/modify that a service gets.
    private func requests(to service: HostileService) -> Box<[Set<String>]> {
        let requests = Box<[Set<String>]>([])
        service.afterModifyingRecords.value = { request, _ in
            requests.value.append(Set(request.operations.compactMap(\.record.recordName)))
        }
        return requests
    }

    @Test(arguments: [true, false], [true, false])
    func `a batch below a shared list is saved whole by an app that has just started`(
        isAtomic: Bool, isReversed: Bool
    ) async throws {
        let cloud = try Cloud()
        let owner = cloud.container("mei")
        _ = try await cloud.share(try await cloud.makeList(owner), of: owner)
        try await owner.privateCloudDatabase.saveAll([plain("box"), Cloud.record("bread", "Bread", parent: "box")])
        let (service, app) = cloud.hostile("mei")
        let database = app.privateCloudDatabase
        let bread = try await database.record(for: id("bread"))
        bread.parent = CKRecord.Reference(recordID: id("list"), action: .none)
        let requests = requests(to: service)
        var records = folder() + [plain("beside"), bread]
        if isReversed { records.reverse() }
        let results = try await database.modifyRecords(saving: records, deleting: [id("box")], atomically: isAtomic)
        #expect(codes(results) == [:])
        #expect(requests.value.count > 1, "no item lacked keys")
        if isAtomic {
            #expect(requests.value.allSatisfy { $0.count == 5 }, "\(requests.value)")
        } else {
            #expect(requests.value.filter { $0.contains("beside") }.count == 1, "\(requests.value)")
        }
        let other = cloud.container("mei").privateCloudDatabase
        #expect(try await text(other, "folder", in: Cloud.zoneID) == "Folder")
        #expect(try await other.record(for: id("inside")).parent?.recordID == id("folder"))
        #expect(try await text(other, "bread", in: Cloud.zoneID) == "Bread")
        await expectFailure(.unknownItem) { _ = try await other.record(for: id("box")) }
    }

    @Test(arguments: [true, false])
    func `an atomic batch with a conflict saves nothing, although keys arrive for another item`(
        isReversed: Bool
    ) async throws {
        let cloud = try Cloud()
        let owner = cloud.container("mei")
        _ = try await cloud.share(try await cloud.makeList(owner), of: owner)
        let app = cloud.container("mei").privateCloudDatabase
        let stale = try await app.record(for: id("note"))
        let newer = try await owner.privateCloudDatabase.record(for: id("note"))
        newer["title"] = "newer"
        _ = try await owner.privateCloudDatabase.save(newer)
        stale["title"] = "stale"
        var records = [stale] + folder()
        if isReversed { records.reverse() }
        let codes = codes(try await app.modifyRecords(saving: records, deleting: [], atomically: true))
        #expect(
            codes == ["note": .serverRecordChanged, "folder": .batchRequestFailed, "inside": .batchRequestFailed])
        for name in ["folder", "inside"] {
            await expectFailure(.unknownItem) { _ = try await app.record(for: id(name)) }
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `a child of a record whose key has not arrived fails as its batch, and is saved with it later`(
        isAtomic: Bool, childFirst: Bool
    ) async throws {
        let cloud = try Cloud()
        let (owner, guest, zone) = try await cloud.guestWithoutKey()
        let records = folder(in: zone, childFirst: childFirst)
        let database = guest.sharedCloudDatabase
        // The second time the app knows the list's share.
        for _ in 0..<2 {
            let results = try await database.modifyRecords(saving: records, deleting: [], atomically: isAtomic)
            #expect(codes(results) == ["folder": .zoneBusy, "inside": .batchRequestFailed])
        }
        _ = try await owner.privateCloudDatabase.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil)
        let results = try await database.modifyRecords(saving: records, deleting: [], atomically: isAtomic)
        #expect(codes(results) == [:])
        #expect(try await text(owner.privateCloudDatabase, "folder", in: Cloud.zoneID) == "Folder")
        _ = try await owner.privateCloudDatabase.record(for: id("inside"))
    }

    @Test(arguments: [true, false])
    func `a child fails like its parent if the keys of the parent cannot be fetched`(isAtomic: Bool) async throws {
        let cloud = try Cloud()
        let owner = cloud.container("mei")
        _ = try await cloud.share(try await cloud.makeList(owner), of: owner)
        let app = cloud.container("mei")
        let refused = cloud.cloud.hold(.save, at: .afterCommit)
        async let saving = app.privateCloudDatabase.modifyRecords(
            saving: folder(), deleting: [], atomically: isAtomic)
        try await refused.arrived()
        cloud.cloud.fail(.keys, .all, with: .networkUnavailable)
        refused.release()
        let results = try await saving
        #expect(codes(results) == ["folder": .networkUnavailable, "inside": .networkUnavailable])
    }
}
