import CloudKit
import Testing

@Suite struct RecordEqualityTests {
    private let id = CKRecord.ID(recordName: "a")

    private func record(_ title: String?) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: id)
        record["title"] = title
        return record
    }

    @Test func `unsaved records are distinct in a set if their values differ, and equal otherwise`() {
        #expect(record("one") != record("two") && record("one") != record(nil))
        #expect(Set([record("one"), record("two"), record("one")]).count == 2)
        #expect(record("one") == record("one").copy() as? CKRecord)
        let encrypted = record(nil)
        encrypted.encryptedValues["title"] = "one"
        #expect(encrypted != record("one"))
        let child = record("one")
        child.setParent(CKRecord.ID(recordName: "root"))
        #expect(child != record("one"))
    }

    @Test(arguments: Transport.allCases)
    func `the change tag distinguishes versions of a saved record`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let saved = try await database.save(record("one"))
            let fetched = try await database.record(for: id)
            #expect(saved == fetched && saved != record("one"))
            fetched["title"] = "two"
            #expect(saved == fetched)
            try await database.save(fetched)
            #expect(saved != fetched)
        }
    }
}

/// Names and forms of Apple's that apps use and Linux lacks.
@Suite struct FormTests {
    private func isBitwise<Value>(_ value: Value) -> Bool { false }
    private func isBitwise<Value: BitwiseCopyable>(_ value: Value) -> Bool { true }

    @Test func `types that Apple's framework imports as plain numbers are bitwise copyable`() {
        #expect(isBitwise(CKRecord.ReferenceAction.deleteSelf))
        #expect(isBitwise(CKDatabase.Scope.private) && isBitwise(CKError.Code.internalError))
        #expect(isBitwise(CKQuerySubscription.Options.firesOnce) && isBitwise(CKRecordZone.Capabilities.atomic))
    }

    /// What a page lists under "Conforms To".
    private func conforms<T: Copyable & Sendable & SendableMetatype & Hashable>(_ type: T.Type) {}
    private func isCoded<T: NSSecureCoding & CVarArg & CustomStringConvertible & CustomDebugStringConvertible>(
        _ type: T.Type
    ) {}

    @Test func `records, IDs and references are copyable, sendable, coded and described as Apple's pages list it`() {
        conforms(CKRecord.self)
        conforms(CKRecord.ID.self)
        conforms(CKRecord.Reference.self)
        conforms(CKRecord.ReferenceAction.self)
        isCoded(CKRecord.self)
        isCoded(CKRecord.ID.self)
        isCoded(CKRecord.Reference.self)
        func holds<Value: CKRecordValueProtocol>(_ value: Value) -> Any? { value }
        #expect(holds(CKRecord.Reference(recordID: CKRecord.ID(recordName: "a"), action: .none)) is CKRecord.Reference)
        #expect(Array(CKRecord(recordType: "Note")).isEmpty)
    }

    @Test func `the initialiser imported from Objective-C exists`() {
        let id = CKRecord.ID(recordName: "a")
        let record = CKRecord(__recordType: "Note", recordID: id)
        #expect(record.recordType == "Note" && record.recordID == id)
    }

    @Test func `defaults are set by key-value coding's name, and times count in nanoseconds`() throws {
        let defaults = try #require(UserDefaults(suiteName: "nephos-forms-\(UUID().uuidString)"))
        defaults.setValue(Data([1]), forKey: "token")
        #expect(defaults.data(forKey: "token") == Data([1]))
        defaults.setValue(nil, forKey: "token")
        #expect(defaults.data(forKey: "token") == nil)
        #expect(2 * NSEC_PER_SEC == 2_000 * NSEC_PER_MSEC)
    }
}
