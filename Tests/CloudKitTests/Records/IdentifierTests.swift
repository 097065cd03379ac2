import CloudKit
import NephosWire
import Testing

@Suite struct IdentifierTests {
    @Test func `a record ID has a name and a zone`() {
        let zoneID = CKRecordZone.ID(zoneName: "Lists")
        #expect(CKRecord.ID(recordName: "a").zoneID == CKRecordZone.ID.default)
        #expect(CKRecord.ID(recordName: "a", zoneID: zoneID).zoneID == zoneID)
        #expect(UUID(uuidString: CKRecord.ID().recordName) != nil)
        #expect(UUID(uuidString: CKRecord.ID(zoneID: zoneID).recordName) != nil)
        #expect(CKRecord.ID(zoneID: zoneID) != CKRecord.ID(zoneID: zoneID))
    }

    @Test(arguments: [
        "a", "A-1.2 3/4~", String(repeating: "x", count: 255), "__defaultOwner__",
        "_0123456789abcdef0123456789abcdef", "cloudkit.zoneshare",
    ])
    func `a record name is 1 to 255 ASCII characters, or a user's`(name: String) {
        #expect(CKRecord.ID(recordName: name).recordName == name)
    }

    @Test func `IDs are equal by their names, and keys of dictionaries`() {
        func id(_ name: String, _ zone: String, _ owner: String = CKCurrentUserDefaultName) -> CKRecord.ID {
            CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: zone, ownerName: owner))
        }
        #expect(id("a", "z") == id("a", "z"))
        #expect(id("a", "z").hash == id("a", "z").hash)
        #expect(id("a", "z") != id("b", "z"))
        #expect(id("a", "z") != id("a", "y"))
        #expect(id("a", "z", "_o") != id("a", "z"))
        #expect([id("a", "z"): 1][id("a", "z")] == 1)
        #expect(Set([id("a", "z"), id("a", "z"), id("a", "y")]).count == 2)
        #expect(!id("a", "z").isEqual("a"))
    }

    @Test func `a copy of an ID or a reference equals it`() {
        let id = CKRecord.ID(recordName: "a")
        let reference = CKRecord.Reference(recordID: id, action: .deleteSelf)
        #expect(id.copy() as? CKRecord.ID == id)
        #expect(id.zoneID.copy() as? CKRecordZone.ID == id.zoneID)
        #expect(reference.copy() as? CKRecord.Reference == reference)
    }

    @Test func `descriptions show the names`() {
        let id = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "z", ownerName: "_o"))
        #expect(id.description.hasPrefix("<CKRecordID: 0x"))
        #expect(id.description.hasSuffix("; recordName=a, zoneID=z:_o>"))
        #expect(id.zoneID.description.hasSuffix("; zoneName=z, ownerName=_o>"))
        #expect(CKRecord.Reference(recordID: id, action: .none).description.contains("a:(z:_o)"))
    }

    @Test func `constants have the values of the service`() {
        #expect(CKCurrentUserDefaultName == "__defaultOwner__")
        #expect(CKRecordNameZoneWideShare == "cloudkit.zoneshare")
        #expect(CKRecordZone.ID.defaultZoneName == "_defaultZone")
        #expect(CKRecordZone.ID.default.zoneName == "_defaultZone")
        #expect(CKRecordZone.ID.default.ownerName == "__defaultOwner__")
        #expect(CKRecordZone.default().zoneID == .default)
        #expect(CKShare.SystemFieldKey.title == "cloudkit.title")
        #expect(CKShare.SystemFieldKey.thumbnailImageData == "cloudkit.thumbnailImageData")
        #expect(CKShare.SystemFieldKey.shareType == "cloudkit.type")
    }

    @Test func `a reference stores the ID of its target and the action`() {
        let list = CKRecord(recordType: "List")
        let reference = CKRecord.Reference(record: list, action: .deleteSelf)
        #expect(reference.recordID == list.recordID)
        #expect(reference.action == .deleteSelf)
        #expect(reference == CKRecord.Reference(recordID: list.recordID, action: .deleteSelf))
        #expect(reference != CKRecord.Reference(recordID: list.recordID, action: .none))
        #expect(CKRecord.ReferenceAction(rawValue: 0) == CKRecord.ReferenceAction.none)
        #expect(CKRecord.ReferenceAction(rawValue: 1) == .deleteSelf)
        #expect(CKRecord.ReferenceAction(rawValue: 2) == nil)
        let action: CKRecord.Reference.Action = .deleteSelf
        #expect(action == .deleteSelf)
    }

    @Test func `a zone that was not saved has no capabilities, a saved one those of its kind`() {
        let zone = CKRecordZone(zoneName: "Lists")
        #expect(zone.zoneID == CKRecordZone.ID(zoneName: "Lists", ownerName: CKCurrentUserDefaultName))
        #expect(zone.capabilities == [])
        zone.absorbSave()
        #expect(zone.capabilities == .ofCustomZones)
        #expect(CKRecordZone(wire: .init(zoneID: .defaultZone, atomic: false)).capabilities == [])
        let fetched = CKRecordZone(
            wire: .init(zoneID: .init(zoneName: "Lists", ownerRecordName: "_me"), atomic: true),
            zoneID: zone.zoneID)
        #expect(fetched == zone)
        #expect(fetched.capabilities.contains(.atomic))
        #expect(fetched.share == nil)
    }

    @Test func `a zone's encryption scope is per record unless it is set`() throws {
        let zone = CKRecordZone(zoneID: CKRecordZone.ID(zoneName: "Lists"))
        #expect(zone.encryptionScope == .perRecord)
        zone.encryptionScope = .perZone
        let copy = try #require(zone.copy() as? CKRecordZone)
        #expect(copy.encryptionScope == .perZone)
        copy.encryptionScope = .perRecord
        #expect(zone.encryptionScope == .perZone)
    }

    @Test func `a share is a record in its root's zone, and the root refers to it`() throws {
        let root = CKRecord(
            recordType: "List", recordID: CKRecord.ID(recordName: "l", zoneID: CKRecordZone.ID(zoneName: "Lists")))
        let share = CKShare(rootRecord: root)
        #expect(share.recordType == CKRecord.SystemType.share)
        #expect(share.recordID.zoneID == root.recordID.zoneID)
        #expect(root.share == CKRecord.Reference(recordID: share.recordID, action: .none))
        #expect(share.url == nil)
        #expect(share.publicPermission == .none)
        share[CKShare.SystemFieldKey.title] = "Groceries"
        share.publicPermission = .readOnly
        let copy = try #require(share.copy() as? CKShare)
        #expect(copy[CKShare.SystemFieldKey.title] as? String == "Groceries")
        #expect(copy.publicPermission == .readOnly)
    }

    @Test func `the share of a zone always has the name CKRecordNameZoneWideShare`() {
        let zoneID = CKRecordZone.ID(zoneName: "Lists")
        let share = CKShare(recordZoneID: zoneID)
        #expect(share.recordID == CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: zoneID))
    }
}
