import CloudKit
import Testing

@Suite struct SharingWalkTests {
    @Test(arguments: Transport.allCases)
    func `a list is shared, joined, read, changed and left`(_ transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let owner = cloud.container("alice")
            let list = try await SharedList(owner)
            let share = try await list.share(with: "bob@localhost")
            let url = try #require(share.url)
            #expect(share.recordChangeTag != nil)
            #expect(list.root.share?.recordID == share.recordID)
            #expect(share.owner.acceptanceStatus == .accepted)
            #expect(share.currentUserParticipant?.role == .owner)
            #expect(share.participants.count == 2)
            #expect(share.participants.last?.acceptanceStatus == .pending)

            let guest = cloud.container("bob")
            let shared = guest.sharedCloudDatabase
            #expect(try await shared.allRecordZones().isEmpty)
            let metadata = try await guest.shareMetadata(for: url)
            #expect(metadata.participantStatus == .pending)
            #expect(metadata.participantPermission == .readWrite)
            #expect(metadata.hierarchicalRootRecordID?.recordName == "list")
            let accepted = try await guest.accept(metadata)
            #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)

            // The zone is there under its owner's name, with what is shared and nothing else.
            let zones = try await shared.allRecordZones()
            let ownerName = try await owner.userRecordID().recordName
            let zoneID = CKRecordZone.ID(zoneName: "Lists", ownerName: ownerName)
            #expect(zones.map(\.zoneID) == [zoneID])
            let root = try await shared.record(for: CKRecord.ID(recordName: "list", zoneID: zoneID))
            #expect(root["title"] == "Groceries")
            #expect(root.share?.recordID.recordName == share.recordID.recordName)
            await #expect(
                codeOf { _ = try await shared.record(for: CKRecord.ID(recordName: "note", zoneID: zoneID)) }
                    == .unknownItem)
            let feed = try await shared.changes(in: zoneID)
            #expect(feed.names == ["list", "milk", share.recordID.recordName])
            #expect(feed.deleted.isEmpty)
            let database = try await shared.databaseChanges(since: nil)
            #expect(database.modifications.map(\.zoneID) == [zoneID])

            // A participant adds a record, and the owner has it.
            let bread = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "bread", zoneID: zoneID))
            bread["title"] = "Bread"
            bread.setParent(root.recordID)
            try await shared.saveAll([bread])
            let own = try await owner.privateCloudDatabase.record(
                for: CKRecord.ID(recordName: "bread", zoneID: list.zoneID))
            #expect(own["title"] == "Bread")
            #expect(own.parent?.recordID.recordName == "list")
            #expect(try await shared.changes(in: zoneID, since: feed.token).names == ["bread"])

            // The owner takes the participant out.
            let current = try #require(
                try await owner.privateCloudDatabase.record(for: share.recordID) as? CKShare)
            let guestPart = try #require(current.participants.first { $0.role == .privateUser })
            #expect(guestPart.acceptanceStatus == .accepted)
            current.removeParticipant(guestPart)
            try await owner.privateCloudDatabase.saveAll([current])
            #expect(try await shared.allRecordZones().isEmpty)
            await #expect(codeOf { _ = try await shared.record(for: root.recordID) } == .zoneNotFound)
            let gone = try await shared.databaseChanges(since: database.changeToken)
            #expect(gone.deletions.map(\.zoneID) == [zoneID])
            await #expect(codeOf { _ = try await guest.shareMetadata(for: url) } == .unknownItem)
        }
    }
}
