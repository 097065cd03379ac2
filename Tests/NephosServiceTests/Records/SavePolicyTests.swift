import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// The table of CloudKit Web Services, records/modify, cell by cell.
@Suite struct SavePolicyTests {
    private static let stored = RecordRow(
        zone: ZoneKey(owner: .everyone, id: 1), name: "A", type: "Note", sequence: 46, createdAt: 1, createdBy: 1,
        modifiedAt: 1, modifiedBy: 1, fields: Array("{}".utf8))

    private func decide(
        _ type: RecordOperation.OperationType, exists: Bool, tag: String? = nil, recordType: String? = nil
    ) -> SaveDecision {
        let operation = ValidOperation(
            operationType: type, recordName: "A", recordType: recordType, recordChangeTag: tag, fields: RecordFields(),
            parent: .keep)
        return SavePolicy.decide(operation, stored: exists ? Self.stored : nil)
    }

    @Test func `the change tag is the sequence in base 36`() {
        #expect(ChangeTag.make(sequence: 46) == "1a")
        #expect(ChangeTag.matches("1a", sequence: 46))
        #expect(!ChangeTag.matches("1A", sequence: 46))
    }

    @Test func `create makes a record and refuses one that exists, with the server's record`() {
        #expect(decide(.create, exists: false) == .insert)
        #expect(decide(.create, exists: true) == .refuse(.recordExists, server: Self.stored))
    }

    @Test(arguments: [RecordOperation.OperationType.update, .replace])
    func `update and replace need the record and its current tag`(type: RecordOperation.OperationType) {
        #expect(decide(type, exists: false, tag: "1a") == .refuse(.changeTagWithoutRecord))
        #expect(decide(type, exists: true, tag: "19") == .refuse(.staleChangeTag, server: Self.stored))
        #expect(decide(type, exists: true, tag: nil) == .refuse(.staleChangeTag, server: Self.stored))
        #expect(
            decide(type, exists: true, tag: "1a")
                == (type == .update ? .merge(into: Self.stored) : .replace(Self.stored)))
    }

    @Test func `forced operations overwrite any record`() {
        #expect(decide(.forceUpdate, exists: false) == .insert)
        #expect(decide(.forceUpdate, exists: true, tag: "19") == .merge(into: Self.stored))
        #expect(decide(.forceReplace, exists: false) == .insert)
        #expect(decide(.forceReplace, exists: true, tag: "19") == .replace(Self.stored))
    }

    @Test func `delete needs the record, and the tag only if one is given`() {
        #expect(decide(.delete, exists: false) == .refuse(.recordNotFound))
        #expect(decide(.delete, exists: true) == .delete(Self.stored))
        #expect(decide(.delete, exists: true, tag: "1a") == .delete(Self.stored))
        #expect(decide(.delete, exists: true, tag: "19") == .refuse(.staleChangeTag, server: Self.stored))
    }

    @Test func `forceDelete succeeds without a record`() {
        #expect(decide(.forceDelete, exists: false) == .nothingToDelete)
        #expect(decide(.forceDelete, exists: true, tag: "19") == .delete(Self.stored))
    }

    @Test func `the other policies overwrite another type, and a conflict is detected before the type`() {
        for type in [RecordOperation.OperationType.forceUpdate, .forceReplace] {
            #expect(decide(type, exists: true, recordType: "Task") == .replace(Self.stored))
        }
        #expect(decide(.forceUpdate, exists: true, recordType: "Note") == .merge(into: Self.stored))
        let taken = SaveDecision.refuse(.recordExists, server: Self.stored)
        #expect(decide(.create, exists: true, recordType: "Task") == taken)
        let stale = SaveDecision.refuse(.staleChangeTag, server: Self.stored)
        #expect(decide(.update, exists: true, tag: "19", recordType: "Task") == stale)
    }

    @Test(arguments: [("Users", RecordOperation.OperationType.forceUpdate), ("Task", .update)])
    func `no record becomes a system type, and no version of a record has two types`(
        type: String, operation: RecordOperation.OperationType
    ) {
        guard case .refuse(let error, let server) = decide(operation, exists: true, tag: "1a", recordType: type) else {
            Issue.record("the type changed")
            return
        }
        #expect(error.clientCode == .invalidArguments && server == nil)
        #expect(error.reason.contains("'Note'") && error.reason.contains("'\(type)'"))
    }
}
