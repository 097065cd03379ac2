import CloudKit
import CloudKitLocal
import Testing

/// The code of Documentation/Sharing.md.
@Suite struct SharingPageTests {
    @Test func `a list is shared with a friend`() async throws {
        let cloud = try LocalCloud()
        let (container, guest) = (cloud.container(account: "alice"), cloud.container(account: "bob"))
        _ = try await guest.userRecordID()
        let database = container.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Lists"))
        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(zoneID: zone.zoneID))

        let share = CKShare(rootRecord: list)
        share[CKShare.SystemFieldKey.title] = "Groceries"
        let friend = try await container.shareParticipant(forEmailAddress: "bob@localhost")
        friend.permission = .readWrite
        share.addParticipant(friend)
        _ = try await database.modifyRecords(saving: [list, share], deleting: [])
        let url = try #require(share.url)  // to be sent to Bob

        let metadata = try await guest.shareMetadata(for: url)
        _ = try await guest.accept(metadata)
        let zones = try await guest.sharedCloudDatabase.allRecordZones()

        #expect(zones.map(\.zoneID.zoneName) == ["Lists"])
    }
}
