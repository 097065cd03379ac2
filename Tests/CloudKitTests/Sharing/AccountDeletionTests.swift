import CloudKit
import CloudKitLocal
import Testing

/// The effects of a deleted account on others, and on the next account of its name.
@Suite struct AccountDeletionTests {
    private struct Shared {
        let cloud: LocalCloud
        let list: SharedList
        let share: CKShare
        let guest: CKContainer

        var own: CKDatabase { list.owner.privateCloudDatabase }
    }

    /// A list of alice's that bob takes part in.
    private func withShared(_ body: (Shared) async throws -> Void) async throws {
        let cloud = try LocalCloud()
        let list = try await SharedList(cloud.container(account: "alice"))
        let guest = cloud.container(account: "bob")
        _ = try await guest.userRecordID()
        let share = try await list.share(with: "bob@localhost")
        try await guest.join(share.url)
        try await body(Shared(cloud: cloud, list: list, share: share, guest: guest))
        await cloud.close()
    }

    @Test(.timeLimit(.minutes(5))) func `a deleted account's shares end for their participants`() async throws {
        try await withShared { shared in
            let database = shared.guest.sharedCloudDatabase
            let listener = try await SharingListener(shared.guest, other: shared.cloud.container(account: "bob"))
            let zoneID = try #require(try await database.allRecordZones().first).zoneID
            let token = try await database.databaseChanges(since: nil).changeToken

            try await shared.cloud.deleteAccount("alice")
            // Nothing of it is there once the answer is.
            #expect(try await database.allRecordZones().isEmpty)
            let item = CKRecord.ID(recordName: "milk", zoneID: zoneID)
            await #expect(codeOf { _ = try await database.record(for: item) } == .zoneNotFound)
            await #expect(codeOf { _ = try await database.changes(in: zoneID) } == .zoneNotFound)
            await #expect(codeOf { try await shared.guest.join(shared.share.url) } == .unknownItem)

            await shared.cloud.settle()
            let changes = try await database.databaseChanges(since: token)
            #expect(changes.deletions.map(\.zoneID) == [zoneID] && changes.modifications.isEmpty)
            #expect(try await listener.hasHeard())
        }
    }

    @Test func `a deleted account participates in no share`() async throws {
        try await withShared { shared in
            let token = try await shared.own.changes(in: shared.list.zoneID).token
            let stored = try #require(try await shared.own.record(for: shared.share.recordID) as? CKShare)
            #expect(stored.participants.count == 2)

            try await shared.cloud.deleteAccount("bob")
            // The owner has nothing to wait for.
            let left = try #require(try await shared.own.record(for: shared.share.recordID) as? CKShare)
            #expect(left.participants.count == 1 && left.recordChangeTag != stored.recordChangeTag)
            await shared.cloud.settle()
            #expect(try await shared.own.record(for: left.recordID).recordChangeTag == left.recordChangeTag)
            let feed = try await shared.own.changes(in: shared.list.zoneID, since: token)
            #expect(feed.names == [shared.share.recordID.recordName])

            // The new account of its name is another one, without an invitation.
            let next = shared.cloud.container(account: "bob")
            #expect(try await next.sharedCloudDatabase.allRecordZones().isEmpty)
            await #expect(codeOf { try await next.join(shared.share.url) } == .unknownItem)
        }
    }

    @Test func `an invitation of a deleted account is not valid for the next account of its name`() async throws {
        let cloud = try LocalCloud()
        _ = try await cloud.container(account: "bob").userRecordID()
        let share = try await SharedList(cloud.container(account: "alice")).share(with: "bob@localhost")
        try await cloud.deleteAccount("bob")
        await cloud.settle()
        await #expect(codeOf { try await cloud.container(account: "bob").join(share.url) } == .unknownItem)
        await cloud.close()
    }

    @Test func `public records of a deleted account keep their creator, and its user record is deleted`() async throws {
        let cloud = try LocalCloud()
        let former = cloud.container(account: "bob")
        let userID = try await former.userRecordID()
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note"))
        note["title"] = "Public"
        let bound = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "bound"))
        bound["user"] = CKRecord.Reference(recordID: userID, action: .deleteSelf)
        let user = try await former.publicCloudDatabase.record(for: userID)
        user["nick"] = "Bobby"
        try await former.publicCloudDatabase.saveAll([note, bound, user])
        _ = try await former.privateCloudDatabase.save(CKRecordZone(zoneName: "Mine"))
        try await former.privateCloudDatabase.saveAll([CKRecord(recordType: "Note")])

        try await cloud.deleteAccount("bob")
        await cloud.settle()
        let other = cloud.container(account: "carol").publicCloudDatabase
        let stored = try await other.record(for: note.recordID)
        #expect(stored["title"] == "Public" && stored.creatorUserRecordID == userID)
        await #expect(codeOf { _ = try await other.record(for: userID) } == .unknownItem)
        await #expect(codeOf { _ = try await other.record(for: bound.recordID) } == .unknownItem)

        let next = cloud.container(account: "bob")
        #expect(try await next.userRecordID() != userID)
        #expect(try await next.privateCloudDatabase.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone"])
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        #expect(try await next.privateCloudDatabase.records(matching: query).matchResults.isEmpty)
        // It did not create them.
        let mine = try await next.publicCloudDatabase.record(for: note.recordID)
        mine["title"] = "Mine"
        await #expect(next.publicCloudDatabase.codeOfSaving(mine) == .permissionFailure)
        await cloud.close()
    }

    @Test func `deleting a missing account is refused`() async throws {
        let cloud = try LocalCloud()
        _ = try await cloud.container(account: "bob").userRecordID()
        await #expect(codeOf { try await cloud.deleteAccount("carol") } == .unknownItem)
        await #expect(codeOf { try await cloud.deleteAccount("") } == .unknownItem)
        try await cloud.deleteAccount("bob")
        await #expect(codeOf { try await cloud.deleteAccount("bob") } == .unknownItem)
        await #expect(codeOf { try await cloud.deleteAccount("bob", inContainer: "iCloud.none") } == .badContainer)
        await cloud.close()
    }
}
