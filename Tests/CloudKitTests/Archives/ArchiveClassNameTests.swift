import CloudKit
import Testing

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
}
