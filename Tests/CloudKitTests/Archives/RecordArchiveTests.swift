import CloudKit
import NephosWire
import Testing

@Suite struct RecordArchiveTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Lists")

    private func fetchedRecord() -> CKRecord {
        CKRecord.record(
            wire: RecordDictionary(
                recordName: "item", recordType: "Item", recordChangeTag: "t1",
                created: TimestampDictionary(timestamp: 1000, userRecordName: "_maker"),
                modified: TimestampDictionary(timestamp: 2000, userRecordName: "_changer", deviceID: "phone"),
                parent: ReferenceValue(recordName: "list"), share: ReferenceValue(recordName: "share")),
            zoneID: zoneID,
            fields: RecordFields([
                .init(name: "title", field: Field(.string("Milk"))),
                .init(name: "pin", field: Field(.string("1234"), isEncrypted: true)),
            ]))
    }

    private func systemFields(_ record: CKRecord) -> Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        coder.finishEncoding()
        return coder.encodedData
    }

    private func record(fromSystemFields data: Data) throws -> CKRecord {
        let coder = try NSKeyedUnarchiver(forReadingFrom: data)
        coder.requiresSecureCoding = true
        defer { coder.finishDecoding() }
        return try #require(CKRecord(coder: coder))
    }

    private func expectSameMetadata(_ one: CKRecord, _ other: CKRecord) {
        #expect(one == other)
        #expect(one.recordChangeTag == other.recordChangeTag)
        #expect(one.creationDate == other.creationDate)
        #expect(one.creatorUserRecordID == other.creatorUserRecordID)
        #expect(one.modificationDate == other.modificationDate)
        #expect(one.lastModifiedUserRecordID == other.lastModifiedUserRecordID)
        #expect(one.parent == other.parent)
        #expect(one.share == other.share)
    }

    @Test func `encodeSystemFields keeps the metadata, but no keys of the app and no changes`() throws {
        let record = fetchedRecord()
        record["title"] = "Butter"
        let restored = try self.record(fromSystemFields: systemFields(record))
        expectSameMetadata(restored, record)
        #expect(restored.allKeys() == [])
        #expect(restored.changedKeys() == [])
        #expect(restored.encryptedValues.allKeys() == [])
    }

    @Test func `a record restored from its system fields saves with its change tag`() throws {
        let restored = try record(fromSystemFields: systemFields(fetchedRecord()))
        restored["title"] = "Butter"
        #expect(restored.snapshot().recordChangeTag == "t1")
        #expect(restored.fieldsToSend(.changed).entries == [.init(name: "title", field: Field(.string("Butter")))])
    }

    @Test func `system fields are at the top level, under Apple's keys`() throws {
        let plist = try PropertyListSerialization.propertyList(from: systemFields(fetchedRecord()), format: nil)
        let top = try #require((plist as? [String: Any])?["$top"] as? [String: Any])
        for key in [
            "RecordType", "RecordID", "ETag", "RecordCtime", "RecordMtime", "CreatorUserRecordID",
            "LastModifiedUserRecordID", "ModifiedByDevice", "ParentReference", "ShareReference", "KnownToServer",
        ] {
            #expect(top[key] != nil, "\(key)")
        }
        #expect(top["root"] == nil)
        #expect(top["ValueStore"] == nil)
    }

    @Test func `an archive of a whole record keeps which fields were set to nil, encrypted ones too`() throws {
        let unsaved = CKRecord(recordType: "Item")
        unsaved["a"] = nil
        unsaved.encryptedValues["b"] = nil
        let data = try NSKeyedArchiver.archivedData(withRootObject: unsaved, requiringSecureCoding: true)
        let restored = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        #expect(restored.changedKeys() == ["a", "b"])
        #expect(restored.encryptedValues.changedKeys() == ["b"])
    }

    @Test func `a new record's system fields restore a record that was never saved`() throws {
        let unsaved = CKRecord(recordType: "Item")
        unsaved["a"] = 1
        unsaved["b"] = nil
        let restored = try record(fromSystemFields: systemFields(unsaved))
        #expect(restored.allKeys() == [] && restored.changedKeys() == [])
        restored["c"] = nil
        #expect(restored.changedKeys() == ["c"])
        #expect(restored.recordChangeTag == nil)
        #expect(restored.creationDate == nil)
    }

    @Test func `an archived record has its values, its changes and its original values`() throws {
        let record = fetchedRecord()
        record["title"] = "Butter"
        record["asset"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/a file"))
        record.encryptedValues["pin"] = nil
        record.encryptedValues["age"] = 4
        record.setParent(CKRecord.ID(recordName: "other", zoneID: zoneID))
        let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        let restored = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        expectSameMetadata(restored, record)
        #expect(restored.allKeys() == ["age", "asset", "title"])
        #expect(restored["title"] == "Butter")
        #expect((restored["asset"] as? CKAsset)?.fileURL?.path == "/tmp/a file")
        #expect(restored.changedKeys() == ["age", "asset", "pin", "title"])
        #expect(restored.encryptedValues.changedKeys() == ["age", "pin"])
        #expect(restored.fieldsToSend(.changed) == record.fieldsToSend(.changed))
        #expect(restored.ancestorRecord()["title"] == "Milk")
        #expect(restored.ancestorRecord().parent?.recordID.recordName == "list")
        #expect(restored.snapshot().parentToSend(.changed) == .set(ReferenceValue(recordName: "other")))
    }

    @Test func `an uploaded asset comes back from an archive`() throws {
        let record = CKRecord(recordType: "Item")
        let value = AssetValue(
            fileChecksum: "AQID", size: 9, receipt: "r", wrappingKey: "BAUG", referenceChecksum: "BwgJ",
            downloadURL: "https://example.org/a")
        record["asset"] = CKAsset(wireValue: value)
        let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        let restored = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        #expect((restored["asset"] as? CKAsset)?.wireValue == value)
    }

    @Test func `zones, their IDs and references come back from archives`() throws {
        func restored<T: NSObject & NSCoding>(_ object: T) throws -> T? {
            let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
            return try NSKeyedUnarchiver.unarchivedObject(ofClass: T.self, from: data)
        }
        let id = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "z", ownerName: "_o"))
        let reference = CKRecord.Reference(recordID: id, action: .deleteSelf)
        let zone = CKRecordZone(zoneID: id.zoneID)
        zone.absorbSave()
        zone.encryptionScope = .perZone
        #expect(try restored(id) == id)
        #expect(try restored(id.zoneID) == id.zoneID)
        #expect(try restored(reference) == reference)
        let restoredZone = try #require(try restored(zone))
        #expect(restoredZone == zone)
        #expect(restoredZone.capabilities == zone.capabilities)
        #expect(restoredZone.encryptionScope == .perZone)
    }

    @Test func `a share comes back from an archive, as a share`() throws {
        let root = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "l", zoneID: zoneID))
        let share = CKShare(rootRecord: root)
        share[CKShare.SystemFieldKey.title] = "Groceries"
        share.publicPermission = .readWrite
        let data = try NSKeyedArchiver.archivedData(withRootObject: share, requiringSecureCoding: true)
        let restored = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data) as? CKShare)
        #expect(restored == share)
        #expect(restored[CKShare.SystemFieldKey.title] == "Groceries")
        #expect(restored.publicPermission == .readWrite)
    }

    @Test func `an archive without a record decodes to nil`() throws {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        coder.encode("x" as NSString, forKey: "other")
        let reader = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        reader.requiresSecureCoding = true
        #expect(CKRecord(coder: reader) == nil)
    }
}
