import CloudKit
import Testing

class InvitationDouble: CKShare.Metadata, @unchecked Sendable {
    override var hierarchicalRootRecordID: CKRecord.ID? { CKRecord.ID(recordName: "root") }
}

@Suite struct ArchiveClassNameTests {
    private func classes(in data: Data) throws -> [[String]] {
        let plist = try PropertyListSerialization.propertyList(from: data, format: nil)
        let objects = try #require((plist as? [String: Any])?["$objects"] as? [Any])
        return objects.compactMap { ($0 as? [String: Any])?["$classes"] as? [String] }
    }

    @Test func `archives carry Apple's class names`() throws {
        let id = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "z"))
        let reference = CKRecord.Reference(recordID: id, action: .deleteSelf)
        let data = try NSKeyedArchiver.archivedData(withRootObject: reference, requiringSecureCoding: true)
        #expect(
            try Set(classes(in: data))
                == [["CKReference", "NSObject"], ["CKRecordID", "NSObject"], ["CKRecordZoneID", "NSObject"]])
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.Reference.self, from: data) == reference)
    }

    @Test func `a record's archive has the class names of all its parts`() throws {
        let zoneID = CKRecordZone.ID(zoneName: "z")
        let share = CKShare(rootRecord: CKRecord(recordType: "List", recordID: CKRecord.ID(zoneID: zoneID)))
        share["place"] = CLLocation(latitude: 1, longitude: 2)
        share["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/file"))
        let objects = NSArray(array: [share, CKRecord(recordType: "Item"), CKRecordZone(zoneID: zoneID)])
        let data = try NSKeyedArchiver.archivedData(withRootObject: objects, requiringSecureCoding: true)
        let names = try Set(classes(in: data))
        for chain in [
            ["CKShare", "CKRecord", "NSObject"], ["CKRecord", "NSObject"], ["CKRecordZone", "NSObject"],
            ["CLLocation", "NSObject"], ["CKAsset", "NSObject"], ["CKRecordValueStore", "NSObject"],
            ["CKEncryptedRecordValueStore", "CKRecordValueStore", "NSObject"],
        ] {
            #expect(names.contains(chain), "\(chain)")
        }
        #expect(!names.contains { $0[0].contains("CloudKit.") })
    }

    /// `CKShare.Metadata` is no name that Foundation can write or find, and the archive of a subclass needs both.
    @Test func `a nested class's subclass is archived under its own name`() throws {
        let data = try NSKeyedArchiver.archivedData(withRootObject: InvitationDouble(), requiringSecureCoding: true)
        #expect(try classes(in: data).contains(["CKShareMetadata", "NSObject"]))
        let opened = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.Metadata.self, from: data)
        #expect(opened?.hierarchicalRootRecordID?.recordName == "root")
        #expect(opened?.containerIdentifier == "")
    }
}
