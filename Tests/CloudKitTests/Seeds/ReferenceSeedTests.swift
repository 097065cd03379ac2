import CloudKit
import Testing

/// What Apple's pages on `CKRecord.Reference`, its actions and `parent` say, through a database.
@Suite struct ReferenceSeedTests {
    @Test(arguments: Transport.allCases)
    func `both records must be in the same zone of the same database`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let here = try await database.zone("Here")
            let there = try await database.zone("There")
            let target = try await database.save(note("target", in: there))
            for action in [CKRecord.ReferenceAction.none, .deleteSelf] {
                let source = note("source", in: here).owned(by: target, action)
                await expectFailure(.invalidArguments) { try await database.save(source) }
            }
            #expect(try await database.existing([note("source", in: here)]) == [])
            // The record's strings, kept as such, lead there all the same.
            let source = note("source", in: here)
            source["targetName"] = target.recordID.recordName
            source["targetZone"] = target.recordID.zoneID.zoneName
            try await database.save(source)
            let name: String = try #require(source["targetName"])
            let zone: String = try #require(source["targetZone"])
            let id = CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: zone))
            #expect(try await database.record(for: id) == target)
        }
    }

    @Test(arguments: Transport.allCases)
    func `save the target records first or save all the records in one batch operation`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let list = note("list", in: .default, "List")
            await expectFailure(.referenceViolation) { try await database.save(note("early").owned(by: list)) }
            // In one batch the order does not matter.
            try await database.saveAll([note("item").owned(by: list), list])
            try await database.save(note("late").owned(by: list))
            let fetched = try await database.record(for: CKRecord.ID(recordName: "item"))
            let reference = try #require(fetched["owner"] as? CKRecord.Reference)
            #expect(reference.recordID == list.recordID && reference.action == .deleteSelf)
            #expect(try await database.record(for: reference.recordID).recordType == "List")
        }
    }

    @Test(arguments: Transport.allCases)
    func `deleting the target record deletes all its source records, and the deletions cascade through cycles`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            let root = note("root", in: zone)
            let children = (1...3).map { note("child\($0)", in: zone).owned(by: root) }
            let grandchildren = children.map { note("grand-\($0.recordID.recordName)", in: zone).owned(by: $0) }
            let leaf = note("leaf", in: zone).owned(by: grandchildren[0])
            _ = root.owned(by: leaf, key: "loop")
            let bystander = note("bystander", in: zone)
            let all = [root, leaf, bystander] + children + grandchildren
            try await database.saveAll(all)
            #expect(try await database.existing(all).count == 9)
            #expect(try await database.deleteRecord(withID: children[1].recordID) == children[1].recordID)
            #expect(try await database.existing(all).count == 7)
            try await database.deleteRecord(withID: root.recordID)
            #expect(try await database.existing(all) == ["bystander"])
        }
    }

    @Test(arguments: Transport.allCases)
    func `a record with two or more deleteSelf references is deleted when any of their targets is`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            let owners = (1...3).map { note("owner\($0)", in: zone) }
            let owned = note("owned", in: zone).owned(by: owners[0], key: "a").owned(by: owners[1], key: "b")
            owned["list"] = owners.map { CKRecord.Reference(record: $0, action: .deleteSelf) }
            let listed = note("listed", in: zone)
            listed["list"] = owners.map { CKRecord.Reference(record: $0, action: .deleteSelf) }
            try await database.saveAll(owners + [owned, listed])
            try await database.deleteRecord(withID: owners[2].recordID)
            #expect(try await database.existing(owners + [owned, listed]) == ["owner1", "owner2"])
        }
    }

    @Test(arguments: Transport.allCases)
    func `the deletions are asynchronous in the default zone and immediate in a custom zone`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let root = note("root")
            let child = note("child").owned(by: root)
            let grandchild = note("grandchild").owned(by: child)
            try await database.saveAll([root, child, grandchild])
            try await database.deleteRecord(withID: root.recordID)
            #expect(try await !database.existing([root, child, grandchild]).contains("root"))
            await cloud.settle()
            #expect(try await database.existing([root, child, grandchild]) == [])
        }
    }

    @Test(arguments: Transport.allCases)
    func `with the action none nothing happens, and the reference still contains the ID of the deleted record`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            let target = note("target", in: zone)
            let source = note("source", in: zone).owned(by: target, .none)
            try await database.saveAll([target, source])
            let tag = source.recordChangeTag
            try await database.deleteRecord(withID: target.recordID)
            let fetched = try await database.record(for: source.recordID)
            let reference = try #require(fetched["owner"] as? CKRecord.Reference)
            #expect(reference.recordID == target.recordID && reference.action == CKRecord.ReferenceAction.none)
            #expect(fetched.recordChangeTag == tag)
            fetched["title"] = "still saves"
            try await database.save(fetched)
        }
    }

    @Test(arguments: Transport.allCases)
    func `the parent record must exist on the server when the child is saved, or be part of the same save operation`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            let parent = note("parent", in: zone)
            let child = note("child", in: zone)
            child.setParent(parent)
            await expectFailure(.referenceViolation) { try await database.save(child) }
            try await database.saveAll([child, parent])
            let fetched = try await database.record(for: child.recordID)
            #expect(
                fetched.parent?.recordID == parent.recordID && fetched.parent?.action == CKRecord.ReferenceAction.none)

            let byID = note("byID", in: zone)
            byID.setParent(parent.recordID)
            try await database.save(byID)
            // A save that does not touch it keeps it.
            byID["title"] = "child"
            try await database.save(byID)
            #expect(try await database.record(for: byID.recordID).parent?.recordID == parent.recordID)
            // Taking a record out of its parent is a change like any other.
            byID.parent = nil
            try await database.save(byID)
            #expect(try await database.record(for: byID.recordID).parent == nil)
        }
    }

    @Test(arguments: Transport.allCases)
    func `deleting a parent record doesn't delete its children, so it is refused while they exist`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            let parent = note("parent", in: zone)
            let child = note("child", in: zone)
            child.setParent(parent)
            try await database.saveAll([child, parent])
            await expectFailure(.referenceViolation) { try await database.deleteRecord(withID: parent.recordID) }
            #expect(try await database.existing([parent, child]) == ["parent", "child"])
            let results = try await database.modifyRecords(saving: [], deleting: [parent.recordID, child.recordID])
            for result in results.deleteResults.values { try result.get() }
            #expect(try await database.existing([parent, child]) == [])
        }
    }

    @Test(arguments: Transport.allCases)
    func `a record saved in the batch that deletes its share comes back without the share, for every account`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            let root = note("root", in: zone)
            let share = CKShare(rootRecord: root)
            try await database.saveAll([root, share])
            #expect(root.share?.recordID == share.recordID)
            root["title"] = "alone again"
            let results = try await database.modifyRecords(saving: [root], deleting: [share.recordID])
            for result in results.deleteResults.values { try result.get() }
            let saved = try #require(try results.saveResults[root.recordID]?.get())
            #expect(saved.share == nil && saved["title"] == "alone again")
            #expect(root.share == nil)
            let fetched = try await database.record(for: root.recordID)
            #expect(fetched.share == nil && fetched["title"] == "alone again")
            await expectFailure(.unknownItem) { _ = try await database.record(for: share.recordID) }
            // And can be shared again.
            let again = CKShare(rootRecord: root)
            try await database.saveAll([root, again])
            #expect(try await database.record(for: root.recordID).share?.recordID == again.recordID)
        }
    }

    @Test(arguments: Transport.allCases)
    func `the default zone doesn't support sharing, and a custom zone does`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            #expect(try await database.recordZone(for: .default).capabilities == [])
            #expect(
                try await database.recordZone(for: zone).capabilities == .ofCustomZones)
            let record = try await database.save(note("root", in: zone))
            #expect(record.share == nil)
            #expect(try await database.record(for: record.recordID).share == nil)
        }
    }
}
