import CloudKit
import Testing

/// Subtrees larger than one commit moves: the rest is moved in the background, and reveals nothing meanwhile.
@Suite struct LargeMoveTests {
    /// A list with a folder of many items, and another list.
    private struct Folder {
        let zoneID = CKRecordZone.ID(zoneName: "Lists")
        let names = (0..<1200).map { "i\($0)" }
        let database: CKDatabase
        let owner: CKContainer

        init(
            _ owner: CKContainer, isDeep: (String) -> Bool = { $0.hasSuffix("7") }
        ) async throws {
            self.owner = owner
            database = owner.privateCloudDatabase
            _ = try await database.save(CKRecordZone(zoneID: zoneID))
            try await database.saveAll([
                record("one"), record("two"), record("folder", "one"), record("deep", "folder"),
            ])
            for start in stride(from: 0, to: names.count, by: 400) {
                // Some are below another record of the folder.
                try await database.saveAll(
                    names[start..<start + 400].map { record($0, isDeep($0) ? "deep" : "folder") })
            }
        }

        func id(_ name: String, _ ownerName: String = CKCurrentUserDefaultName) -> CKRecord.ID {
            CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: "Lists", ownerName: ownerName))
        }

        func record(_ name: String, _ parent: String? = nil) -> CKRecord {
            let record = CKRecord(recordType: "Item", recordID: id(name))
            if let parent { record.setParent(id(parent)) }
            return record
        }

        /// Shares a list with an account, which accepts.
        func share(_ name: String, with guest: CKContainer, _ account: String) async throws -> CKShare {
            let root = try await database.record(for: id(name))
            let share = CKShare(rootRecord: root)
            share.addParticipant(try await owner.shareParticipant(forEmailAddress: "\(account)@localhost"))
            try await database.saveAll([root, share])
            try await guest.join(share.url)
            return share
        }

        func move(_ name: String, to parent: String?) async throws {
            let record = try await database.record(for: id(name))
            if let parent { record.setParent(id(parent)) } else { record.parent = nil }
            try await database.saveAll([record])
        }

        /// What of the folder an account can fetch by name.
        func readable(_ guest: CKContainer) async throws -> Set<String> {
            let ownerName = try await owner.userRecordID().recordName
            var found: Set<String> = []
            let all = names + ["folder", "deep"]
            for start in stride(from: 0, to: all.count, by: 400) {
                let page = all[start..<min(start + 400, all.count)]
                let results = try await guest.sharedCloudDatabase.records(for: page.map { id($0, ownerName) })
                for (id, result) in results where (try? result.get()) != nil { found.insert(id.recordName) }
            }
            return found
        }

        var all: Set<String> { Set(names + ["folder", "deep"]) }

        /// What a device holds of the folder.
        func held(_ device: SharedDevice) async throws -> Set<String> {
            try await device.follow()
            let ownerName = try await owner.userRecordID().recordName
            let zone = await device.zones[CKRecordZone.ID(zoneName: "Lists", ownerName: ownerName)]
            return Set((zone ?? [:]).keys).intersection(all)
        }
    }

    @Test func `a large hierarchy is shared, moved to another share, and unshared`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let folder = try await Folder(cloud.container("alice"))
            let (bob, carol) = (cloud.container("bob"), cloud.container("carol"))
            let (bobs, carols) = (SharedDevice(bob), SharedDevice(carol))
            _ = try await folder.share("one", with: bob, "bob")
            _ = try await folder.share("two", with: carol, "carol")
            #expect(try await folder.readable(bob) == folder.all)
            #expect(try await folder.readable(carol).isEmpty)
            await cloud.settle()
            #expect(try await folder.held(bobs) == folder.all)
            #expect(try await folder.held(carols).isEmpty)

            // With the move's answer nothing is left to Bob, however far the background is.
            try await folder.move("folder", to: "two")
            #expect(try await folder.readable(bob).isEmpty)
            #expect(try await folder.readable(carol) == folder.all)
            try await bobs.follow()
            try await carols.follow()
            await cloud.settle()
            #expect(try await folder.readable(bob).isEmpty)
            #expect(try await folder.held(bobs).isEmpty)
            #expect(try await folder.held(carols) == folder.all)

            try await folder.move("folder", to: nil)
            #expect(try await folder.readable(carol).isEmpty)
            await cloud.settle()
            #expect(try await folder.held(carols).isEmpty)

            // A device that begins afterwards hears of nothing that went before.
            let owner = try await folder.owner.userRecordID().recordName
            let fresh = try await carol.sharedCloudDatabase.changes(in: folder.id("folder", owner).zoneID)
            #expect(fresh.deleted.isEmpty && fresh.names.isDisjoint(with: folder.all))
        }
    }

    @Test func `moves during a move end in the state of the last one`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let folder = try await Folder(cloud.container("alice"))
            let (bob, carol) = (cloud.container("bob"), cloud.container("carol"))
            let (bobs, carols) = (SharedDevice(bob), SharedDevice(carol))
            _ = try await folder.share("one", with: bob, "bob")
            _ = try await folder.share("two", with: carol, "carol")
            for parent in ["two", nil, "one", "two", "one"] { try await folder.move("folder", to: parent) }
            try await folder.move("deep", to: "two")
            let deep = Set(folder.names.filter { $0.hasSuffix("7") } + ["deep"])
            #expect(try await folder.readable(bob) == folder.all.subtracting(deep))
            #expect(try await folder.readable(carol) == deep)
            await cloud.settle()
            #expect(try await folder.readable(bob) == folder.all.subtracting(deep))
            #expect(try await folder.held(bobs) == folder.all.subtracting(deep))
            #expect(try await folder.held(carols) == deep)
        }
    }

    @Test func `a record that follows its moved parent brings its descendants`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let folder = try await Folder(cloud.container("alice"), isDeep: { _ in true })
            let (bob, carol) = (cloud.container("bob"), cloud.container("carol"))
            _ = try await folder.share("one", with: bob, "bob")
            _ = try await folder.share("two", with: carol, "carol")
            for round in 0..<4 {
                try await folder.move("folder", to: "two")
                // How far the background is by then differs.
                for _ in 0..<round { _ = try await folder.database.record(for: folder.id("one")) }
                try await folder.move("deep", to: "two")
                await cloud.settle()
                #expect(try await folder.readable(bob).isEmpty)
                #expect(try await folder.readable(carol) == folder.all)
                try await folder.move("folder", to: "one")
                try await folder.move("deep", to: "folder")
                await cloud.settle()
                #expect(try await folder.readable(bob) == folder.all)
            }
        }
    }

    @Test func `a large subtree that contains a shared root cannot move under another share`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let folder = try await Folder(cloud.container("alice"))
            let database = folder.database
            let item = try await database.record(for: folder.id("i1197"))
            try await database.saveAll([item, CKShare(rootRecord: item)])
            let two = try await database.record(for: folder.id("two"))
            try await database.saveAll([two, CKShare(rootRecord: two)])
            let moved = try await database.record(for: folder.id("folder"))
            moved.setParent(folder.id("two"))
            await #expect(database.codeOfSaving(moved) == .alreadyShared)
            let one = try await database.record(for: folder.id("one"))
            await #expect(database.codeOfSaving(one, CKShare(rootRecord: one)) == .alreadyShared)
        }
    }

    @Test func `records that left a share are purged like tombstones, and older tokens expire`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let share = try await list.share(with: "bob@localhost")
            let guest = cloud.container("bob")
            try await guest.join(share.url)
            let shared = guest.sharedCloudDatabase
            let owner = try await list.owner.userRecordID().recordName
            let zoneID = CKRecordZone.ID(zoneName: "Lists", ownerName: owner)
            let before = try await shared.changes(in: zoneID)
            #expect(before.names.contains("milk"))
            list.item.parent = nil
            try await list.owner.privateCloudDatabase.saveAll([list.item])
            let after = try await shared.changes(in: zoneID, since: before.token)
            #expect(after.deleted == ["milk"])
            try await cloud.forgetDeletions()
            await #expect(
                codeOf { _ = try await shared.changes(in: zoneID, since: before.token) } == .changeTokenExpired)
            let now = try await shared.changes(in: zoneID, since: after.token)
            #expect(now.names.isEmpty && now.deleted.isEmpty)
            // A new device fetches page by page what is there.
            var token: CKServerChangeToken?
            var names: Set<String> = []
            while true {
                let page = try await shared.recordZoneChanges(inZoneWith: zoneID, since: token, resultsLimit: 1)
                names.formUnion(page.modificationResultsByID.keys.map(\.recordName))
                #expect(page.deletions.isEmpty)
                token = page.changeToken
                if !page.moreComing { break }
            }
            #expect(names == ["list", share.recordID.recordName])

            // So is a share that ended, but for its URL.
            let database = try await shared.databaseChanges(since: nil)
            try await list.owner.privateCloudDatabase.saveAll([], deleting: [share.recordID])
            try await cloud.forgetDeletions()
            await #expect(
                codeOf { _ = try await shared.databaseChanges(since: database.changeToken) } == .changeTokenExpired)
            #expect(try await shared.databaseChanges(since: nil).modifications.isEmpty)
            let root = try await list.owner.privateCloudDatabase.record(for: list.root.recordID)
            let again = CKShare(rootRecord: root)
            try await list.owner.privateCloudDatabase.saveAll([root, again])
            #expect(again.url == share.url)
        }
    }

    @Test func `for a participant who left meanwhile a returned record is a deletion, or the token expires`()
        async throws
    {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let database = list.owner.privateCloudDatabase
            let share = try await list.share(with: "bob@localhost")
            let other = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "kept", zoneID: list.zoneID))
            let otherShare = CKShare(rootRecord: other)
            otherShare.publicPermission = .readOnly
            try await database.saveAll([other, otherShare])
            let guest = cloud.container("bob")
            try await guest.join(share.url)
            try await guest.join(otherShare.url)
            let device = SharedDevice(guest)
            try await device.follow()
            list.item.parent = nil
            try await database.saveAll([list.item])
            let owner = try await list.owner.userRecordID().recordName
            let zoneID = CKRecordZone.ID(zoneName: "Lists", ownerName: owner)
            try await guest.sharedCloudDatabase.saveAll(
                [], deleting: [CKRecord.ID(recordName: share.recordID.recordName, zoneID: zoneID)])
            list.item.setParent(list.root.recordID)
            try await database.saveAll([list.item])
            try await device.follow()
            let held = await device.zones[zoneID]
            #expect(Set(held?.keys.map { $0 } ?? []) == ["kept", otherShare.recordID.recordName])
        }
    }
}
