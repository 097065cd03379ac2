import CloudKit
import Testing

private protocol Samples {
    func owningList(_ itemRecord: CKRecord, _ listRecord: CKRecord)
    func encryptedOwnerName() -> (record: CKRecord, clientName: NSString?)
    func formerNames() -> [String: String]
}

/// The samples of Apple's documentation, as they stand there; they use names that were renamed since.
private struct DocumentationSamples: Samples {
    @available(*, deprecated)
    func owningList(_ itemRecord: CKRecord, _ listRecord: CKRecord) {
        itemRecord["owningList"] = CKReference(record: listRecord, action: .deleteSelf)
    }

    func encryptedOwnerName() -> (record: CKRecord, clientName: NSString?) {
        let record = CKRecord(recordType: "Property")

        // Encrypt the name of the property's owner.
        record.encryptedValues["ownerName"] = "Maria Ruiz"

        // Decrypt the name of the property's owner, using the
        // appropriate data type, and assign it to a local variable.
        var clientName = record.encryptedValues["ownerName"] as? NSString
        if clientName == nil { clientName = "missing" }
        return (record, clientName)
    }

    @available(*, deprecated)
    func formerNames() -> [String: String] {
        let id: CKRecordID = CKRecordID(recordName: "a", zoneID: CKRecordZoneID(zoneName: "z", ownerName: nil))
        let action: CKReferenceAction = .deleteSelf
        let reference: CKReference = CKReference(recordID: id, action: action)
        let capabilities: CKRecordZoneCapabilities = .atomic
        let type: CKRecordType = CKRecordTypeUserRecord
        let key: CKRecordFieldKey = CKRecordParentKey
        return [
            "owner": id.zoneID.ownerName, "action": "\(reference.referenceAction.rawValue)",
            "capabilities": "\(capabilities.rawValue)", "type": type, "share": CKRecordTypeShare, "parentKey": key,
            "shareKey": CKRecordShareKey, "ownerDefault": CKOwnerDefaultName, "zone": CKRecordZoneDefaultName,
            "title": CKShareTitleKey, "thumbnail": CKShareThumbnailImageDataKey, "shareType": CKShareTypeKey,
            "inZone": CKRecord(recordType: "Note", zoneID: id.zoneID).recordID.zoneID.zoneName,
        ]
    }
}

@Suite struct SeedSampleTests {
    private let samples: any Samples = DocumentationSamples()

    @Test func `each item record points at its list with a reference that deletes it`() {
        let itemRecord = CKRecord(recordType: "Item")
        let listRecord = CKRecord(recordType: "List")
        samples.owningList(itemRecord, listRecord)
        #expect(
            itemRecord["owningList"] as? CKRecord.Reference
                == CKRecord.Reference(recordID: listRecord.recordID, action: .deleteSelf))
    }

    @Test func `encryptedValues encrypts and decrypts a string value`() {
        let (record, clientName) = samples.encryptedOwnerName()
        #expect(clientName == "Maria Ruiz")
        #expect(record.encryptedValues.allKeys() == ["ownerName"])
    }

    @Test func `names from before Apple's renames still work`() {
        #expect(
            samples.formerNames() == [
                "owner": "__defaultOwner__", "action": "1", "capabilities": "2", "type": "Users",
                "share": "cloudkit.share", "parentKey": "___parent", "shareKey": "___share",
                "ownerDefault": "__defaultOwner__", "zone": "_defaultZone", "title": "cloudkit.title",
                "thumbnail": "cloudkit.thumbnailImageData", "shareType": "cloudkit.type", "inZone": "z",
            ])
    }
}
