import CloudKit
import CloudKitLocal
import Testing

/// What Apple's pages on CKRecord.Reference and CKRecord.parent say of the server, sentence by sentence.
@Suite struct ReferenceConformanceTests {
    private func owned(_ name: String, by owners: CKRecord..., in zoneID: CKRecordZone.ID) -> CKRecord {
        let record = CKRecord(name, in: zoneID)
        for (index, owner) in owners.enumerated() {
            record["owner\(index)"] = CKRecord.Reference(record: owner, action: .deleteSelf)
        }
        return record
    }

    @Test func `save the target records first or save all the records in one batch`() async throws {
        let setup = try Conformance()
        let zoneID = try await setup.makeZone()
        let list = CKRecord("list", in: zoneID)
        let item = owned("item", by: list, in: zoneID)
        #expect(await code { try await setup.database.save(item) } == .referenceViolation)
        try await setup.database.saveAll([item, list])
        #expect(try await setup.database.existing([list.recordID, item.recordID]) == ["list", "item"])
    }

    @Test func `deleting the owner deletes all its source records, and that triggers further deletions`() async throws {
        let setup = try Conformance()
        let zoneID = try await setup.makeZone()
        let list = CKRecord("list", in: zoneID)
        let items = (0..<20).map { owned("item\($0)", by: list, in: zoneID) }
        let notes = items.map { owned("note-\($0.recordID.recordName)", by: $0, in: zoneID) }
        try await setup.database.saveAll([list] + items + notes)
        try await setup.database.deleteRecord(withID: list.recordID)
        // Immediate in a custom zone: nothing is waited for.
        #expect(try await setup.database.existing(([list] + items + notes).map(\.recordID)) == [])
    }

    @Test func `a record with two or more deleteSelf references is deleted with any of the objects it references`()
        async throws
    {
        let setup = try Conformance()
        let zoneID = try await setup.makeZone()
        let (a, b) = (CKRecord("a", in: zoneID), CKRecord("b", in: zoneID))
        let both = owned("both", by: a, b, in: zoneID)
        try await setup.database.saveAll([a, b, both])
        try await setup.database.deleteRecord(withID: b.recordID)
        #expect(try await setup.database.existing([a, b, both].map(\.recordID)) == ["a"])
    }

    @Test func `records that own each other are deleted together`() async throws {
        let setup = try Conformance()
        let zoneID = try await setup.makeZone()
        let a = CKRecord("a", in: zoneID)
        let b = owned("b", by: a, in: zoneID)
        a["owner"] = CKRecord.Reference(record: b, action: .deleteSelf)
        try await setup.database.saveAll([a, b])
        try await setup.database.deleteRecord(withID: a.recordID)
        #expect(try await setup.database.existing([a, b].map(\.recordID)) == [])
    }

    @Test func `the deletions are asynchronous in the default zone`() async throws {
        let setup = try Conformance()
        let list = CKRecord("list")
        let items = (0..<50).map { owned("item\($0)", by: list, in: .default) }
        try await setup.database.saveAll([list] + items)
        try await setup.database.deleteRecord(withID: list.recordID)
        await setup.cloud.settle()
        #expect(try await setup.database.existing(([list] + items).map(\.recordID)) == [])
    }

    @Test func `with the action none, the reference still contains the ID of the deleted record and doesn't update`()
        async throws
    {
        let setup = try Conformance()
        let zoneID = try await setup.makeZone()
        let target = CKRecord("target", in: zoneID)
        let source = CKRecord("source", in: zoneID)
        source["link"] = CKRecord.Reference(record: target, action: .none)
        try await setup.database.saveAll([target, source])
        try await setup.database.deleteRecord(withID: target.recordID)
        let left = try await setup.database.record(for: source.recordID)
        let link = try #require(left["link"] as? CKRecord.Reference)
        #expect(link.recordID == target.recordID && link.action == .none)
        #expect(left.recordChangeTag == source.recordChangeTag)
    }

    @Test func `both records must be in the same zone of the same database`() async throws {
        let setup = try Conformance()
        let (first, second) = (try await setup.makeZone("A"), try await setup.makeZone("B"))
        let target = try await setup.database.save(CKRecord("target", in: first))
        for action in [CKRecord.ReferenceAction.none, .deleteSelf] {
            let source = CKRecord("source", in: second)
            source["link"] = CKRecord.Reference(record: target, action: action)
            #expect(await code { try await setup.database.save(source) } == .invalidArguments)
        }
    }

    @Test func `the parent must exist on the server or be part of the same save, otherwise the operation fails`()
        async throws
    {
        let setup = try Conformance()
        let zoneID = try await setup.makeZone()
        let root = CKRecord("root", in: zoneID)
        let child = CKRecord("child", in: zoneID)
        child.setParent(root)
        #expect(await code { try await setup.database.save(child) } == .referenceViolation)
        try await setup.database.saveAll([child, root])
        let later = CKRecord("later", in: zoneID)
        later.setParent(root.recordID)
        let saved = try await setup.database.save(later)
        #expect(try await setup.database.record(for: saved.recordID).parent?.recordID == root.recordID)
    }

    @Test func `a parent is taken off by nil, and a save that does not touch it keeps it`() async throws {
        let setup = try Conformance()
        let zoneID = try await setup.makeZone()
        let (root, child) = (CKRecord("root", in: zoneID), CKRecord("child", in: zoneID))
        child.setParent(root)
        try await setup.database.saveAll([root, child])
        child["x"] = 1
        try await setup.database.save(child)
        #expect(try await setup.database.record(for: child.recordID).parent != nil)
        child.parent = nil
        try await setup.database.save(child)
        #expect(try await setup.database.record(for: child.recordID).parent == nil)
    }

    @Test func `use the ID of a reference to fetch the record on the other end of the link`() async throws {
        let setup = try Conformance()
        let target = CKRecord("target")
        target["title"] = "found"
        let source = CKRecord("source")
        source["link"] = CKRecord.Reference(record: target, action: .none)
        try await setup.database.saveAll([target, source])
        let link = try #require(try await setup.database.record(for: source.recordID)["link"] as? CKRecord.Reference)
        #expect(try await setup.database.record(for: link.recordID)["title"] == "found")
    }
}
