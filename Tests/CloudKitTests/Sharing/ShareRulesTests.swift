import CloudKit
import Testing

/// The rules of a valid share.
@Suite struct ShareRulesTests {
    private func withList(_ body: (Cloud, SharedList, CKDatabase) async throws -> Void) async throws {
        try await Cloud.with(.inProcess) { cloud in
            let owner = cloud.container("alice")
            try await body(cloud, try await SharedList(owner), owner.privateCloudDatabase)
        }
    }

    @Test func `a new share without its root is refused`() async throws {
        try await withList { _, list, database in
            let share = CKShare(rootRecord: list.root)
            await #expect(database.codeOfSaving(share) == .invalidArguments)
            let other = CKRecord(recordType: "Item", recordID: CKRecord.ID(zoneID: list.zoneID))
            await #expect(database.codeOfSaving(share, other) == .invalidArguments)
            await #expect(codeOf { _ = try await database.record(for: share.recordID) } == .unknownItem)
        }
    }

    @Test func `share and root are both saved or neither, whatever isAtomic is`() async throws {
        try await withList { _, list, database in
            let stale = list.root
            let fresh = try await database.record(for: stale.recordID)
            fresh["title"] = "Changed"
            try await database.saveAll([fresh])
            let share = CKShare(rootRecord: stale)
            stale["title"] = "Mine"
            let bystander = CKRecord(recordType: "Item", recordID: CKRecord.ID(zoneID: list.zoneID))
            let results = try await database.modifyRecords(
                saving: [share, stale, bystander], deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: false
            )
            #expect((results.saveResults[stale.recordID]?.error as? CKError)?.code == .serverRecordChanged)
            #expect((results.saveResults[share.recordID]?.error as? CKError)?.code == .batchRequestFailed)
            #expect(results.saveResults[bystander.recordID]?.error == nil)
            await #expect(codeOf { _ = try await database.record(for: share.recordID) } == .unknownItem)
        }
    }

    @Test func `a share with a root cannot use the name of a zone's share`() async throws {
        try await withList { cloud, list, database in
            let shareID = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: list.zoneID)
            let share = CKShare(rootRecord: list.root, shareID: shareID)
            let rootAlone = await #expect(throws: CKError.self) { _ = try await database.save(list.root) }
            #expect(rootAlone?.code == .invalidArguments)
            #expect(rootAlone?.localizedDescription.contains("whole zone") == true)
            await #expect(database.codeOfSaving(share, list.root) == .invalidArguments)
            await #expect(database.codeOfSaving(list.root, share) == .invalidArguments)
            await #expect(codeOf { _ = try await database.record(for: shareID) } == .unknownItem)
            // The whole zone can be shared, and the record by a share of another name.
            let whole = CKShare(recordZoneID: list.zoneID)
            await #expect(database.codeOfSaving(whole) == nil)
            await #expect(database.codeOfSaving(whole) == nil)
        }
    }

    @Test func `an unchanged root may come in any order`() async throws {
        try await withList { _, list, database in
            let share = CKShare(rootRecord: list.root)
            try await database.saveAll([share, list.root])
            #expect(share.url?.absoluteString.contains("/share/") == true)
            #expect((share.url?.lastPathComponent.count ?? 0) >= 20)
            let fetched = try #require(try await database.record(for: share.recordID) as? CKShare)
            #expect(fetched.url == share.url)
            #expect(fetched.recordChangeTag == share.recordChangeTag)
            let root = try await database.record(for: list.root.recordID)
            #expect(root.share?.recordID == share.recordID)
            #expect(try await database.record(for: list.item.recordID).share == nil)
        }
    }

    @Test func `a share has a name of the app's choice, also a reused one`() async throws {
        try await withList { _, list, database in
            let shareID = CKRecord.ID(recordName: "my share", zoneID: list.zoneID)
            let share = CKShare(rootRecord: list.root, shareID: shareID)
            try await database.saveAll([list.root, share])
            try await database.saveAll([list.root], deleting: [shareID])
            #expect(list.root.share == nil)
            let again = CKShare(rootRecord: list.root, shareID: shareID)
            try await database.saveAll([list.root, again])
            #expect(again.url == share.url)
            let third = CKShare(rootRecord: list.root)
            await #expect(database.codeOfSaving(list.root, third) == .alreadyShared)
        }
    }

    @Test func `ancestors and descendants of a root cannot be in another share, siblings may be`() async throws {
        try await withList { _, list, database in
            let child = CKShare(rootRecord: list.item)
            try await database.saveAll([list.item, child])
            await #expect(database.codeOfSaving(list.root, CKShare(rootRecord: list.root)) == .alreadyShared)
            let sibling = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "eggs", zoneID: list.zoneID))
            sibling.setParent(list.root.recordID)
            try await database.saveAll([sibling, CKShare(rootRecord: sibling)])
            let below = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "free", zoneID: list.zoneID))
            below.setParent(list.item.recordID)
            await #expect(database.codeOfSaving(below, CKShare(rootRecord: below)) == .alreadyShared)
            // Neither does a move bring two together.
            let loose = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "loose", zoneID: list.zoneID))
            try await database.saveAll([loose, CKShare(rootRecord: loose)])
            loose.setParent(list.item.recordID)
            await #expect(database.codeOfSaving(loose) == .alreadyShared)
        }
    }

    @Test func `a zone with a zone-wide share has no other shares`() async throws {
        try await withList { _, list, database in
            let zoneShare = CKShare(recordZoneID: list.zoneID)
            try await database.saveAll([zoneShare])
            #expect(zoneShare.url != nil)
            #expect(try await database.recordZone(for: list.zoneID).share?.recordID == zoneShare.recordID)
            await #expect(database.codeOfSaving(CKShare(recordZoneID: list.zoneID)) == .serverRecordChanged)
            await #expect(
                database.codeOfSaving(list.root, CKShare(rootRecord: list.root)) == .serverRejectedRequest)
            try await database.saveAll([], deleting: [zoneShare.recordID])
            #expect(try await database.recordZone(for: list.zoneID).share == nil)
            let fresh = try await database.record(for: list.root.recordID)
            try await database.saveAll([fresh, CKShare(rootRecord: fresh)])
            await #expect(database.codeOfSaving(CKShare(recordZoneID: list.zoneID)) == .invalidArguments)
        }
    }

    @Test func `the default zone and the public database hold no shares`() async throws {
        try await withList { cloud, _, database in
            let record = CKRecord(recordType: "List")
            await #expect(database.codeOfSaving(record, CKShare(rootRecord: record)) == .invalidArguments)
            let open = CKRecord(recordType: "List")
            let everyone = cloud.container("alice").publicCloudDatabase
            await #expect(everyone.codeOfSaving(open, CKShare(rootRecord: open)) == .badDatabase)
        }
    }

    @Test func `a share is saved if it is unchanged, whatever the policy`() async throws {
        try await withList { _, list, database in
            let share = try await list.share(with: "bob@localhost")
            let other = try #require(try await database.record(for: share.recordID) as? CKShare)
            other[CKShare.SystemFieldKey.title] = "Other"
            try await database.saveAll([other])
            share[CKShare.SystemFieldKey.title] = "Mine"
            let results = try await database.modifyRecords(
                saving: [share], deleting: [], savePolicy: .allKeys, atomically: true)
            let error = try #require(results.saveResults[share.recordID]?.error as? CKError)
            #expect(error.code == .serverRecordChanged)
            let server = try #require(error.serverRecord as? CKShare)
            #expect(server[CKShare.SystemFieldKey.title] == "Other")
            #expect(server.participants.count == 2 && server.url == share.url)
        }
    }

    @Test func `the owner's deletion of a share ends it and leaves the records`() async throws {
        try await withList { cloud, list, database in
            let share = try await list.share(with: "bob@localhost")
            let guest = cloud.container("bob")
            try await guest.join(share.url)
            let tag = list.root.recordChangeTag
            let token = try await database.changes(in: list.zoneID).token
            try await database.saveAll([], deleting: [share.recordID])
            let root = try await database.record(for: list.root.recordID)
            #expect(root.share == nil && root.recordChangeTag != tag)
            let changes = try await database.changes(in: list.zoneID, since: token)
            #expect(changes.names == ["list"] && changes.deleted == [share.recordID.recordName])
            #expect(try await guest.sharedCloudDatabase.allRecordZones().isEmpty)
            await #expect(codeOf { _ = try await guest.shareMetadata(for: try #require(share.url)) } == .unknownItem)
        }
    }

    @Test func `deleting a root or its zone ends the share`() async throws {
        try await withList { cloud, list, database in
            let share = try await list.share(publicly: .readOnly)
            let guest = cloud.container("bob")
            try await guest.join(share.url)
            try await database.saveAll([], deleting: [list.item.recordID, list.root.recordID])
            await #expect(codeOf { _ = try await database.record(for: share.recordID) } == .unknownItem)
            #expect(try await guest.sharedCloudDatabase.allRecordZones().isEmpty)

            let zone = CKRecordZone(zoneName: "Whole")
            try await database.save(zone)
            let whole = CKShare(recordZoneID: zone.zoneID)
            whole.publicPermission = .readWrite
            try await database.saveAll([whole])
            try await guest.join(whole.url)
            let changes = try await guest.sharedCloudDatabase.databaseChanges(since: nil)
            #expect(changes.modifications.map(\.zoneID.zoneName) == ["Whole"])
            try await database.deleteRecordZone(withID: zone.zoneID)
            let gone = try await guest.sharedCloudDatabase.databaseChanges(since: changes.changeToken)
            #expect(gone.deletions.map(\.zoneID.zoneName) == ["Whole"])
            await #expect(codeOf { _ = try await guest.shareMetadata(for: try #require(whole.url)) } == .unknownItem)
        }
    }

    @Test func `every request returns a share as a CKShare`() async throws {
        try await withList { _, list, database in
            let share = try await list.share(with: "bob@localhost")
            let fetched = try await database.records(for: [share.recordID])[share.recordID]?.get()
            #expect((fetched as? CKShare)?.participants.count == 2)
            let feed = try await database.recordZoneChanges(inZoneWith: list.zoneID, since: nil)
            let inFeed = try feed.modificationResultsByID[share.recordID]?.get().record
            #expect((inFeed as? CKShare)?.participants.count == 2 && (inFeed as? CKShare)?.url == share.url)
        }
    }

    @Test func `a query of shares finds them`() async throws {
        try await withList { _, list, database in
            let share = try await list.share(with: "bob@localhost")
            let query = CKQuery(recordType: CKRecord.SystemType.share, predicate: NSPredicate(value: true))
            let found = try await database.records(matching: query, inZoneWith: list.zoneID)
            let shares = try found.matchResults.map { try $0.1.get() as? CKShare }
            #expect(shares.map { $0?.recordID } == [share.recordID])
            #expect(shares.first??.participants.count == 2 && shares.first??.url == share.url)
        }
    }

    @Test func `no record is its own ancestor`() async throws {
        try await withList { _, list, database in
            list.root.setParent(list.item.recordID)
            await #expect(database.codeOfSaving(list.root) == .invalidArguments)
            let (one, two) = (CKRecord(recordType: "Item"), CKRecord(recordType: "Item"))
            one.setParent(two)
            two.setParent(one)
            await #expect(database.codeOfSaving(one, two) == .invalidArguments)
        }
    }

    @Test func `a chain of parents has at most 1,000 records, also after two are joined`() async throws {
        try await withList { _, list, database in
            let upper = try await chain("a", 600, list, database)
            let lower = try await chain("b", 402, list, database)
            lower[0].setParent(upper[599])
            await #expect(database.codeOfSaving(lower[0]) == .limitExceeded)
            lower[0].setParent(upper[598])
            try await database.saveAll([lower[0]])
            let next = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "c", zoneID: list.zoneID))
            next.setParent(lower[401])
            await #expect(database.codeOfSaving(next) == .limitExceeded)
        }
    }

    @Test func `a chain keeps its limit if a large subtree moves, or the batch saves records below it`() async throws {
        try await withList { _, list, database in
            let upper = try await chain("a", 600, list, database)
            let lower = try await chain("b", 500, list, database)
            // More is below the root than a commit looks at one by one.
            let others = (0..<1100).map { number in
                let record = CKRecord(
                    recordType: "Item", recordID: CKRecord.ID(recordName: "w\(number)", zoneID: list.zoneID))
                record.setParent(lower[0])
                return record
            }
            for start in stride(from: 0, to: others.count, by: 300) {
                try await database.saveAll(Array(others[start..<min(start + 300, others.count)]))
            }
            lower[0].setParent(upper[599])
            await #expect(database.codeOfSaving(lower[0]) == .limitExceeded)
            lower[0].setParent(upper[499])
            try await database.saveAll([lower[0]])

            let part = try await chain("c", 402, list, database)
            part[0].setParent(upper[599])
            part[1]["title"] = "Saved with it"
            await #expect(database.codeOfSaving(part[0], part[1]) == .limitExceeded)
            part[0].setParent(upper[597])
            try await database.saveAll([part[0], part[1]])
        }
    }

    /// Saves records each of which is the next one's parent.
    private func chain(
        _ name: String, _ count: Int, _ list: SharedList, _ database: CKDatabase
    ) async throws -> [CKRecord] {
        let records = (0..<count).map { number in
            CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "\(name)\(number)", zoneID: list.zoneID))
        }
        for (parent, child) in zip(records, records.dropFirst()) { child.setParent(parent) }
        for start in stride(from: 0, to: count, by: 300) {
            try await database.saveAll(Array(records[start..<min(start + 300, count)]))
        }
        return records
    }
}
