import CloudKit
import CloudKitLocal
import Foundation
import Testing

/// The code of Documentation/Assets.md.
@Suite struct AssetsTests {
    @Test func `a file is saved in a record and fetched`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("photo-\(UUID().uuidString)")
        try Data("pixels".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }

        let record = CKRecord(recordType: "Photo")
        record["image"] = CKAsset(fileURL: file)
        try await database.save(record)

        let fetched = try await database.record(for: record.recordID)
        let image = (fetched["image"] as? CKAsset)?.fileURL

        #expect(try Data(contentsOf: #require(image)) == Data("pixels".utf8))
    }
}
