import CloudKit
import NephosWire
import Testing

/// Which of a record's fields count as changed.
@Suite struct RecordChangeTests {
    private func fetched(_ fields: [String: FieldValue]) -> CKRecord {
        CKRecord.record(
            wire: RecordDictionary(recordName: "n", recordType: "Note", recordChangeTag: "1"),
            fields: RecordFields(fields.map { .init(name: $0.key, field: Field($0.value)) }))
    }

    @Test func `changedKeys are the keys set since the record was made`() {
        let record = CKRecord(recordType: "Note")
        record["b"] = 1
        record["a"] = 2
        #expect(record.allKeys() == ["a", "b"])
        #expect(record.changedKeys() == ["a", "b"])
    }

    @Test func `setting nil is a change, also of a key that a new record does not have`() {
        let record = CKRecord(recordType: "Note")
        record["a"] = 1
        record["a"] = nil
        record["b"] = nil
        record.encryptedValues["c"] = nil
        #expect(record.allKeys() == [])
        #expect(record.changedKeys() == ["a", "b", "c"])
        #expect(record.encryptedValues.changedKeys() == ["c"])
        #expect(
            record.fieldsToSend(.changed).entries == [
                .init(name: "a", field: Field(nil)), .init(name: "b", field: Field(nil)),
                .init(name: "c", field: Field(nil, isEncrypted: true)),
            ])
    }

    @Test func `a fetched record has no changed keys until one is set`() {
        let record = fetched(["a": .int64(1), "b": .string("x")])
        #expect(record.allKeys() == ["a", "b"])
        #expect(record.changedKeys() == [])
        record["b"] = "y"
        #expect(record.changedKeys() == ["b"])
    }

    @Test func `removing a field of a fetched record is a change that clears it`() {
        let record = fetched(["a": .int64(1), "b": .string("x")])
        record["a"] = nil
        #expect(record.allKeys() == ["b"])
        #expect(record.changedKeys() == ["a"])
        #expect(record.fieldsToSend(.changed).entries == [.init(name: "a", field: Field(nil))])
        #expect(record.fieldsToSend(.all).count == 2)
    }

    @Test func `a field that was not fetched can be cleared`() {
        let record = fetched([:])
        record["elsewhere"] = nil
        #expect(record.changedKeys() == ["elsewhere"])
    }

    @Test func `a save clears the changed keys and brings the metadata`() {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
        record["a"] = 1
        record.setParent(CKRecord.ID(recordName: "p"))
        record.absorb(
            saved: RecordDictionary(
                recordName: "n", recordType: "Note", recordChangeTag: "t1",
                created: TimestampDictionary(timestamp: 1000, userRecordName: "_me"),
                modified: TimestampDictionary(timestamp: 2500, userRecordName: "_other", deviceID: "d")),
            currentUserRecordName: "_me")
        #expect(record.changedKeys() == [])
        #expect(record["a"] == 1)
        #expect(record.recordChangeTag == "t1")
        #expect(record.creationDate == Date(timeIntervalSince1970: 1))
        #expect(record.modificationDate == Date(timeIntervalSince1970: 2.5))
        #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(record.lastModifiedUserRecordID?.recordName == "_other")
        #expect(record.parent?.recordID.recordName == "p")
        #expect(record.snapshot().parentToSend(.changed) == .keep)
    }

    @Test func `a change during a save stays changed`() {
        let record = fetched(["a": .int64(1), "b": .int64(1)])
        record["a"] = 2
        record["b"] = 2
        let sent = record.snapshot()
        record["b"] = 3
        record["c"] = 3
        record.setParent(CKRecord.ID(recordName: "p"))
        record.absorb(saved: RecordDictionary(recordName: "n", recordType: "Note", recordChangeTag: "2"), of: sent)
        #expect(record.changedKeys() == ["b", "c"])
        #expect(record["b"] == 3)
        #expect(record.ancestorRecord()["b"] == 2)
        #expect(record.snapshot().parentToSend(.changed) == .set(ReferenceValue(recordName: "p")))
    }

    @Test func `the ancestor is the record as it was last fetched or saved`() {
        let record = fetched(["a": .int64(1)])
        record["a"] = 2
        record["b"] = "new"
        let ancestor = record.ancestorRecord()
        #expect(ancestor["a"] == 1)
        #expect(ancestor.allKeys() == ["a"])
        #expect(ancestor.changedKeys() == [])
        #expect(ancestor.recordChangeTag == "1")
        record.absorb(saved: RecordDictionary(recordName: "n", recordType: "Note", recordChangeTag: "2"))
        #expect(record.ancestorRecord()["a"] == 2)
        #expect(record.ancestorRecord()["b"] == "new")
        #expect(record.ancestorRecord().recordChangeTag == "2")
    }

    @Test func `the ancestor of a record that was never saved has no fields`() {
        let record = CKRecord(recordType: "Note")
        record["a"] = 1
        #expect(record.ancestorRecord().allKeys() == [])
        #expect(record.ancestorRecord().recordID == record.recordID)
    }

    @Test func `the parent is sent when it changed, and always with all fields`() {
        let record = CKRecord(recordType: "Item")
        #expect(record.snapshot().parentToSend(.changed) == .keep)
        record.setParent(CKRecord.ID(recordName: "p"))
        #expect(record.snapshot().parentToSend(.changed) == .set(ReferenceValue(recordName: "p")))
        record.absorb(saved: RecordDictionary(recordName: "i", recordType: "Item", recordChangeTag: "1"))
        #expect(record.snapshot().parentToSend(.changed) == .keep)
        #expect(record.snapshot().parentToSend(.all) == .set(ReferenceValue(recordName: "p")))
        record.setParent(nil as CKRecord.ID?)
        #expect(record.snapshot().parentToSend(.changed) == .clear)
        #expect(record.snapshot().parentToSend(.all) == .clear)
    }
}
