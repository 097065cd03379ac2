import CloudKit
import CloudKitLocal
import Testing

/// The code of Documentation/Assets.md.
@Suite struct AssetsPageTests {
    @Test func `a file is deleted with its record`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).jpg")
        try Data("photo".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }

        let record = CKRecord(recordType: "Photo")
        record["image"] = CKAsset(fileURL: file)
        try await database.save(record)

        let fetched = try await database.record(for: record.recordID)
        let image = (fetched["image"] as? CKAsset)?.fileURL

        #expect(try Data(contentsOf: try #require(image)) == Data("photo".utf8))
    }
}
