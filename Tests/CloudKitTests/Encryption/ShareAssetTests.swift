import CloudKitLocal
import Foundation
import Testing

@testable import CloudKit

/// Assets in the fields of a share.
@Suite struct ShareAssetTests: SharedValuesChecks {
    private typealias Cloud = SharedValuesTests.Cloud

    @Test(arguments: [true, false], [true, false])
    func `a share has an asset, which its participants read, and of which a device replaces the file`(
        isSealed: Bool, isZoneWide: Bool
    ) async throws {
        let files = try TestFiles()
        let cloud = try Cloud()
        func app(_ account: String) -> CKContainer {
            let (service, container) = cloud.hostile(account)
            service.seals.value = isSealed
            return container
        }
        let (owner, guest) = (app("mei"), app("ana"))
        let root = try await cloud.makeList(owner)
        let share = isZoneWide ? CKShare(recordZoneID: Cloud.zoneID) : CKShare(rootRecord: root)
        share["picture"] = CKAsset(fileURL: try files.file("first"))
        share["pictures"] = [CKAsset(fileURL: try files.file("a")), CKAsset(fileURL: try files.file("b"))]
        let participant = try await owner.shareParticipant(forEmailAddress: "ana@localhost")
        participant.permission = .readWrite
        share.addParticipant(participant)
        try await owner.privateCloudDatabase.saveAll(isZoneWide ? [share] : [root, share])
        try await guest.join(share.url)
        let seen = id(share.recordID.recordName, try await sharedZone(guest))
        #expect(try await guest.sharedCloudDatabase.record(for: seen).text("picture") == "first")
        let second = app("mei").privateCloudDatabase
        let stored = try await second.record(for: share.recordID)
        #expect(try stored.text("picture") == "first")
        stored["picture"] = CKAsset(fileURL: try files.file("second"))
        _ = try await second.save(stored)
        let changed = try await app("ana").sharedCloudDatabase.record(for: seen)
        #expect(try changed.text("picture") == "second")
        let list = try #require(changed["pictures"] as? [CKAsset])
        #expect(try list.map { try String(contentsOf: #require($0.fileURL), encoding: .utf8) } == ["a", "b"])
    }
}
