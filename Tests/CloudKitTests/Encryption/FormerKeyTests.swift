import CloudKitLocal
import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// Former keys: those of records that left a share, of a share or zone that was made again, and of URLs without a pending
/// invitation.
@Suite struct FormerKeyTests: SharedValuesChecks {
    private typealias Cloud = SharedValuesTests.Cloud
    private static let call = ServiceCall(scope: .private)
    private static let wireZone = ZoneIDDictionary(zoneName: "Lists")

    private func keys(_ owner: CKContainer, _ group: String = "", of names: [String] = []) async throws -> KeysResponse
    {
        try await owner.session.service.send(
            .lookupKeys,
            LookupKeysRequest(
                zoneID: Self.wireZone, group: group, wantsGroup: true, wantsMembers: true, recordNames: names),
            Self.call)
    }

    private func groups(_ owner: CKContainer, _ name: String) async throws -> Set<String> {
        Set(try await keys(owner, of: [name]).records.flatMap(\.keys).map(\.group))
    }

    // MARK: Records

    @Test func `a record that leaves a share is rewrapped for the zone in its move, and not for the share`()
        async throws
    {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner)
        let group = share.recordID.recordName
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        let database = owner.privateCloudDatabase
        // Made under the share: the zone has no key of it.
        let bread = Cloud.record("bread", "Bread", parent: "list")
        try await database.saveAll([bread, Cloud.record("crust", "Crust", parent: "bread")])
        #expect(try await groups(owner, "bread") == [group])
        let moved = try await database.record(for: bread.recordID)
        moved.parent = nil
        _ = try await database.save(moved)
        for name in ["bread", "crust"] {
            #expect(try await groups(owner, name) == [""], "\(name)")
            #expect(try await text(cloud.container("mei").privateCloudDatabase, name, in: Cloud.zoneID) != nil)
            await expectFailure(.unknownItem) { _ = try await text(guest.sharedCloudDatabase, name, in: zone) }
        }
        // And its next write has a new key.
        let before = try await keys(owner, of: ["bread"]).records.first?.keys.map(\.id)
        moved.encryptedValues["text"] = "Rye"
        _ = try await database.save(moved)
        let after = try await keys(owner, of: ["bread"]).records.first?.keys.map(\.id)
        #expect(before?.count == 1 && after?.count == 1 && before != after)
    }

    @Test(arguments: [true, false])
    func `a record that was in a share is sealed with a new key afterwards`(endsShare: Bool) async throws {
        let cloud = try Cloud()
        let owner = cloud.container("mei")
        let database = owner.privateCloudDatabase
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner)
        func keyIDs() async throws -> Set<[UInt8]> {
            Set(try await keys(owner, of: ["note"]).records.flatMap(\.keys).map(\.id))
        }
        let before = try await keyIDs()
        let note = try await database.record(for: id("note"))
        note.parent = CKRecord.Reference(recordID: id("list"), action: .none)
        _ = try await database.save(note)
        #expect(try await keyIDs() == before && before.count == 1)
        if endsShare {
            _ = try await database.deleteRecord(withID: share.recordID)
        } else {
            note.parent = nil
            _ = try await database.save(note)
        }
        note.encryptedValues["text"] = "Mine alone"
        _ = try await database.save(note)
        #expect(try await keyIDs().isDisjoint(with: before))
        #expect(try await text(cloud.container("mei").privateCloudDatabase, "note", in: Cloud.zoneID) == "Mine alone")
    }

    @Test func `a record that a Web client unshares is rewrapped for the zone at the owner's next sync`() async throws {
        let cloud = try Cloud()
        let owner = cloud.container("mei")
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner)
        let group = share.recordID.recordName
        let database = owner.privateCloudDatabase
        _ = try await database.save(Cloud.record("bread", "Bread", parent: "list"))
        let token = try await database.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil).changeToken
        var bread = RecordToModify(recordName: "bread", recordType: "Item", fields: RecordFields())
        bread.parent = .clear
        let moved = try await cloud.cloud.container(account: "mei").session.service.send(
            .modifyRecords,
            ModifyRecordsRequest(
                operations: [RecordOperation(operationType: .forceUpdate, record: bread)], zoneID: Self.wireZone),
            Self.call)
        guard case .record? = moved.records.first else {
            Issue.record("\(moved.records)")
            return
        }
        #expect(try await groups(owner, "bread") == [group], "its owner has no other way to it")
        #expect(try await keys(owner, group).hasLeft)
        _ = try await database.recordZoneChanges(inZoneWith: Cloud.zoneID, since: token)
        #expect(try await groups(owner, "bread") == [""])
        let settled = try await keys(owner, group)
        #expect(!settled.hasLeft && settled.attention == 0)
        #expect(try await text(cloud.container("mei").privateCloudDatabase, "bread", in: Cloud.zoneID) == "Bread")
    }

    // MARK: Shares and zones of one name

    @Test func `a share that reuses a name has another key`() async throws {
        let cloud = try Cloud()
        let owner = cloud.container("mei")
        let database = owner.privateCloudDatabase
        let root = try await cloud.makeList(owner)
        let shareID = id("the share")
        for version in 1...2 as ClosedRange<Int64> {
            let record = try await database.record(for: root.recordID)
            let share = CKShare(rootRecord: record, shareID: shareID)
            share.publicPermission = .readWrite
            try await database.saveAll([record, share])
            #expect(try await keys(owner, "the share").group.last?.version == version)
            #expect(try await text(database, "milk", in: Cloud.zoneID) == "Milk")
            _ = try await database.deleteRecord(withID: shareID)
        }
    }

    @Test func `a device with a former zone's key seals nothing with it once the zone was made again`() async throws {
        let cloud = try Cloud()
        let (old, new) = (cloud.container("mei"), cloud.container("mei"))
        _ = try await cloud.makeList(old)
        _ = try await new.privateCloudDatabase.deleteRecordZone(withID: Cloud.zoneID)
        _ = try await cloud.makeList(new)
        _ = try await old.privateCloudDatabase.save(Cloud.record("eggs", "Eggs"))
        #expect(try await text(new.privateCloudDatabase, "eggs", in: Cloud.zoneID) == "Eggs")
        #expect(try await text(old.privateCloudDatabase, "milk", in: Cloud.zoneID) == "Milk")
    }

    // MARK: URLs

    @Test func `a share's key is wrapped by its URL's secret while others may join, and the URL is stable`()
        async throws
    {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let (owner, ana, bob) = (cloud.container("mei"), cloud.container("ana"), cloud.container("bob"))
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner, with: "ana@localhost")
        let (group, url) = (share.recordID.recordName, share.url)
        #expect(try await keys(owner, group).link?.key.isEmpty == false)
        try await ana.join(url)
        let closed = try #require(try await keys(owner, group).link)
        #expect(closed.key.isEmpty && !closed.secret.isEmpty)
        let seen = try #require(try await owner.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        #expect(seen.url == url)
        let invited = try await owner.shareParticipant(forEmailAddress: "bob@localhost")
        seen.addParticipant(invited)
        let saved = try #require(try await owner.privateCloudDatabase.save(seen) as? CKShare)
        #expect(saved.url == url, "nobody was taken out")
        #expect(try await keys(owner, group).link?.key.isEmpty == false)
        try await bob.join(url)
        #expect(try await text(bob.sharedCloudDatabase, "milk", in: try await sharedZone(bob)) == "Milk")
        #expect(try await keys(owner, group).link?.key.isEmpty == true)
    }

    @Test func `withdrawing an invitation closes the URL, and a public share's stays open`() async throws {
        let cloud = try Cloud()
        let (owner, ana) = (cloud.container("mei"), cloud.container("ana"))
        let root = try await cloud.makeList(owner)
        let share = try await cloud.share(root, of: owner, with: "ana@localhost")
        let group = share.recordID.recordName
        let invited = try #require(share.participants.first { $0.role != .owner })
        share.removeParticipant(invited)
        _ = try await owner.privateCloudDatabase.save(share)
        #expect(try await keys(owner, group).link?.key.isEmpty == true)
        share.publicPermission = .readWrite
        _ = try await owner.privateCloudDatabase.save(share)
        #expect(try await keys(owner, group).link?.key.isEmpty == false)
        try await ana.join(share.url)
        #expect(try await text(ana.sharedCloudDatabase, "milk", in: try await sharedZone(ana)) == "Milk")
        #expect(try await keys(owner, group).link?.key.isEmpty == false)
    }
}
