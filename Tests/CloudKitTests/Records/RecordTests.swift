import CloudKit
import NephosWire
import Testing

@Suite struct RecordTests {
    @Test func `a new record has no keys, values or metadata`() {
        let record = CKRecord(recordType: "Note")
        #expect(record.recordType == "Note")
        #expect(record.allKeys() == [])
        #expect(record.changedKeys() == [])
        #expect(record.creationDate == nil)
        #expect(record.modificationDate == nil)
        #expect(record.creatorUserRecordID == nil)
        #expect(record.lastModifiedUserRecordID == nil)
        #expect(record.recordChangeTag == nil)
        #expect(record.parent == nil)
        #expect(record.share == nil)
    }

    @Test func `without an ID, the record generates a UUID and bases its ID on that value`() {
        let first = CKRecord(recordType: "Note")
        let second = CKRecord(recordType: "Note")
        #expect(UUID(uuidString: first.recordID.recordName) != nil)
        #expect(first.recordID != second.recordID)
        #expect(first.recordID.zoneID == .default)
    }

    @Test func `the ID derives from the record ID object that is provided`() {
        let id = CKRecord.ID(recordName: "Groceries", zoneID: CKRecordZone.ID(zoneName: "Lists"))
        #expect(CKRecord(recordType: "List", recordID: id).recordID == id)
    }

    @Test func `CloudKit provides two system-defined record types`() {
        #expect(CKRecord.SystemType.userRecord == "Users")
        #expect(CKRecord.SystemType.share == "cloudkit.share")
        #expect(CKRecord(recordType: CKRecord.SystemType.userRecord).recordType == "Users")
    }

    @Test func `system fields have the names of the service`() {
        #expect(CKRecord.SystemFieldKey.recordID == "___recordID")
        #expect(CKRecord.SystemFieldKey.creationDate == "___createTime")
        #expect(CKRecord.SystemFieldKey.creatorUserRecordID == "___createdBy")
        #expect(CKRecord.SystemFieldKey.modificationDate == "___modTime")
        #expect(CKRecord.SystemFieldKey.lastModifiedUserRecordID == "___modifiedBy")
        #expect(CKRecord.SystemFieldKey.parent == "___parent")
        #expect(CKRecord.SystemFieldKey.share == "___share")
    }

    @Test func `a record keeps a copy of a mutable value`() {
        let record = CKRecord(recordType: "Note")
        let text = NSMutableString(string: "before")
        let list = NSMutableArray(array: ["before"])
        let data = NSMutableData(data: Data([1]))
        record["text"] = text
        record["list"] = list
        record["data"] = data
        text.append(" and after")
        list.add("after")
        data.append(Data([2]))
        #expect(record["text"] == "before")
        #expect(record["list"] == ["before"])
        #expect(record["data"] == Data([1]))
    }

    @Test func `allTokens breaks the string values apart at white space`() {
        let record = CKRecord(recordType: "Note")
        record["a"] = "the quick\tbrown\nfox"
        record["b"] = 5
        record["c"] = ["not", "these"]
        record["d"] = "jumps"
        #expect(record.allTokens() == ["the", "quick", "brown", "fox", "jumps"])
    }

    @Test func `allTokens normalises the words for the locale`() {
        let record = CKRecord(recordType: "Note")
        record["a"] = "Über CAFÉ"
        #expect(record.allTokens() == ["uber", "cafe"])
    }

    @Test func `a copy is an independent record with the values and the changed keys`() throws {
        let record = CKRecord(recordType: "Note")
        record["a"] = 1
        record.encryptedValues["secret"] = "s"
        record.setParent(CKRecord.ID(recordName: "parent"))
        let copy = try #require(record.copy() as? CKRecord)
        #expect(copy == record)
        #expect(copy !== record)
        #expect(copy["a"] == 1)
        #expect(copy.encryptedValues["secret"] == "s")
        #expect(copy.changedKeys() == ["a", "secret"])
        #expect(copy.parent == record.parent)
        copy["a"] = 2
        copy["b"] = 3
        #expect(record["a"] == 1)
        #expect(record.allKeys() == ["a", "secret"])
    }

    @Test func `records are equal by identity, type and change tag, once they were saved`() {
        let id = CKRecord.ID(recordName: "n")
        let record = CKRecord(recordType: "Note", recordID: id)
        let other = CKRecord(recordType: "Note", recordID: id)
        other["a"] = 1
        #expect(record != other)
        #expect(record.hash == other.hash)
        record.absorb(saved: .init(recordName: "n", recordType: "Note", recordChangeTag: "0"))
        other.absorb(saved: .init(recordName: "n", recordType: "Note", recordChangeTag: "0"))
        #expect(record == other)
        #expect(record != CKRecord(recordType: "Task", recordID: id))
        #expect(record != CKRecord(recordType: "Note"))
        other.absorb(saved: .init(recordName: "n", recordType: "Note", recordChangeTag: "1"))
        #expect(record != other)
    }

    @Test func `the description names type, ID and values, but no encrypted ones`() {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "groceries"))
        record["title"] = "Milk"
        record.encryptedValues["pin"] = "not to be printed"
        for part in ["CKRecord", "recordType=Note", "groceries:(_defaultZone:__defaultOwner__)", "title=Milk"] {
            #expect(record.description.contains(part))
            #expect(record.debugDescription.contains(part))
        }
        #expect(!record.description.contains("not to be printed"))
    }

    @Test func `key-value coding reads metadata and reference paths`() {
        let id = CKRecord.ID(recordName: "child", zoneID: CKRecordZone.ID(zoneName: "z"))
        let record = CKRecord(recordType: "Note", recordID: id)
        let owner = CKRecord.Reference(recordID: CKRecord.ID(recordName: "owner"), action: .none)
        record["owner"] = owner
        record.setValue(owner, forKey: "parent")
        #expect(record.parent == owner)
        #expect(record.value(forKey: "recordID") as? CKRecord.ID == id)
        #expect(record.value(forKey: "recordType") as? String == "Note")
        #expect(record.value(forKey: "recordChangeTag") == nil)
        #expect(record.value(forKey: "parent") as? CKRecord.Reference == owner)
        #expect(record.value(forKeyPath: "recordID.zoneID.zoneName") as? String == "z")
        #expect(record.value(forKeyPath: "owner.recordID.recordName") as? String == "owner")
    }

    @Test func `key-value coding sets and reads many keys at once`() {
        let record = CKRecord(recordType: "Note")
        record["old"] = 1
        record.setValuesForKeys(["title": "t", "count": 3, "old": NSNull()])
        let values = record.dictionaryWithValues(forKeys: ["title", "count", "missing"])
        #expect(record.allKeys() == ["count", "title"])
        #expect(values["title"] as? String == "t")
        #expect(values["count"] as? Int == 3)
        #expect(values["missing"] is NSNull)
    }

    @Test func `setParent makes a reference that has the action none`() {
        let parent = CKRecord(recordType: "List")
        let record = CKRecord(recordType: "Item")
        record.setParent(parent)
        #expect(record.parent == CKRecord.Reference(record: parent, action: .none))
        record.setParent(parent.recordID)
        #expect(record.parent?.recordID == parent.recordID)
        #expect(record.parent?.action == CKRecord.ReferenceAction.none)
        record.setParent(nil as CKRecord?)
        #expect(record.parent == nil)
        record.parent = CKRecord.Reference(record: parent, action: .none)
        record.setParent(nil as CKRecord.ID?)
        #expect(record.parent == nil)
    }

    @Test func `records are changed from many threads at once`() async {
        let record = CKRecord(recordType: "Note")
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for number in 0..<200 { record["k\(writer)"] = number }
                }
            }
        }
        #expect(record.allKeys().count == 8)
        for writer in 0..<8 { #expect(record["k\(writer)"] == 199) }
    }
}
