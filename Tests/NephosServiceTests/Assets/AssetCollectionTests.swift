import Foundation
import NephosSQLite
import NephosStorage
import NephosThreads
import NephosWire
import Testing

@testable import NephosService

/// The lifetime of files, and their collection.
@Suite struct AssetCollectionTests {
    private let cloud: TestCloud
    private let me: TestDatabase

    init() {
        cloud = TestCloud()
        me = TestDatabase(cloud)
    }

    /// Uploads a file for a field.
    private func upload(
        _ content: String, record: String, field: String = "file", _ database: TestDatabase? = nil
    ) async throws -> AssetValue {
        let database = database ?? me
        let answer = try await cloud.service.assetUploads(
            AssetUploadRequest(
                zoneID: database.zoneID,
                tokens: [AssetField(recordName: record, recordType: "Note", fieldName: field)]), database.context)
        let token = try answer.firstToken()
        let upload = try await cloud.service.beginUpload(
            token, size: Int64(content.utf8.count), container: "iCloud.test", .development, requestID: "R")
        try await upload.append(Array(content.utf8))
        return try await upload.finish().singleFile
    }

    /// Whether the file of a record that was read can be downloaded.
    private func isThere(_ value: AssetValue) async throws -> Bool {
        let parts = try #require(value.downloadURL).split(separator: "/").map(String.init)
        do throws(ServiceError) {
            _ = try await cloud.service.openAsset(
                parts[4], parts[5], container: "iCloud.test", .development, requestID: "R")
            return true
        } catch {
            #expect(error.code == .notFound)
            return false
        }
    }

    private func asset(_ record: String, _ database: TestDatabase? = nil) async throws -> AssetValue {
        let result = try await (database ?? me).lookup(record)
        let record = try #require(result.first?.record)
        let fields = try record.fields.decoded()
        return try #require(fields["file"]?.value?.assets.first)
    }

    private func fileCount() async throws -> Int {
        try await cloud.withStore { store in
            let files = store.assets.files
            return try await BlockingPool.disk.run { try files.files(after: "", limit: 100).count }
        }
    }

    /// Lets a time go by, and the background do what is due.
    private func wait(days: Int64) async throws {
        cloud.advance(milliseconds: days * 86_400_000 + 1)
        try await cloud.withStore { store in
            await cloud.service.settle()
            store.assets.collectNow()
            await cloud.service.settle()
        }
    }

    @Test func `a file is kept while a record refers to it, and for a week after`() async throws {
        let file = try await upload("content", record: "a")
        _ = try await me.modify([.create("a", ["file": .asset(file)])])
        try await wait(days: 30)
        let value = try await asset("a")
        #expect(try await isThere(value))

        _ = try await me.modify([.delete("a")])
        try await wait(days: 6)
        #expect(try await fileCount() == 1)
        try await wait(days: 2)
        #expect(try await fileCount() == 0)
    }

    @Test func `an unsaved upload expires after a week, and its receipt with it`() async throws {
        let file = try await upload("content", record: "a")
        try await wait(days: 8)
        #expect(try await fileCount() == 0)
        let results = try await me.modify([.create("a", ["file": .asset(file)])])
        #expect(results.map(\.summary) == ["error 12"])
    }

    @Test func `a content of several records is stored once and deleted with the last of them`() async throws {
        for name in ["a", "b"] {
            let file = try await upload("content", record: name)
            _ = try await me.modify([.create(name, ["file": .asset(file)])])
        }
        #expect(try await fileCount() == 1)
        _ = try await me.modify([.delete("a")])
        try await wait(days: 8)
        let left = try await asset("b")
        #expect(try await isThere(left))
        _ = try await me.modify([.force("b", ["file": nil])])
        try await wait(days: 8)
        #expect(try await fileCount() == 0)
    }

    @Test func `accounts do not share files, and learn nothing of each other's`() async throws {
        let tom = TestDatabase(cloud, "tom")
        let mine = try await upload("content", record: "a")
        let theirs = try await upload("content", record: "a", tom)
        #expect(mine.fileChecksum == theirs.fileChecksum && mine.receipt != theirs.receipt)
        #expect(mine.referenceChecksum != theirs.referenceChecksum)
        #expect(try await fileCount() == 2)
        let results = try await tom.modify([.create("a", ["file": .asset(mine)])])
        #expect(results.map(\.summary) == ["error 12"])
    }

    @Test func `the files of a deleted zone are deleted`() async throws {
        let zone = try await me.making(zone: "Z")
        let file = try await upload("content", record: "a", zone)
        _ = try await zone.modify([.create("a", ["file": .asset(file)])])
        _ = try await cloud.service.modifyZones(
            ModifyZonesRequest(operations: [
                ZoneOperation(operationType: .delete, zoneID: ZoneIDDictionary(zoneName: "Z"))
            ]),
            me.context)
        await cloud.service.settle()
        #expect(try await fileCount() == 1)
        try await wait(days: 8)
        #expect(try await fileCount() == 0)
    }

    @Test func `a file that is uploaded again during its collection exists afterwards`() async throws {
        for round in 0..<10 {
            let old = try await upload("content", record: "a\(round)")
            #expect(old.size == 7)
            cloud.advance(milliseconds: 8 * 86_400_000)
            let now = cloud.now
            async let collection: Void = cloud.withStore { try await $0.assets.collect(neededBefore: now) }
            let new = try await upload("content", record: "b\(round)")
            try await collection
            let results = try await me.modify([.create("b\(round)", ["file": .asset(new)])])
            #expect(results.map(\.summary) == ["saved"])
            let value = try await asset("b\(round)")
            #expect(try await isThere(value))
            _ = try await me.modify([.delete("b\(round)")])
        }
    }

    @Test func `a connection that is cut leaves nothing behind`() async throws {
        let answer = try await cloud.service.assetUploads(
            AssetUploadRequest(tokens: [AssetField(recordName: "a", recordType: "Note", fieldName: "file")]), me.context
        )
        let token = try answer.firstToken()
        for tenth in 0..<10 {
            let upload = try await cloud.service.beginUpload(
                token, size: 1000, container: "iCloud.test", .development, requestID: "R")
            if tenth > 0 { try await upload.append(Array(repeating: 7, count: 100 * tenth)) }
            if tenth == 9 {
                await #expect(throws: ServiceError.self) { _ = try await upload.finish() }
            }
        }
        #expect(try await fileCount() == 0)
        // Their room is free again.
        let file = try await upload("content", record: "a")
        #expect(file.size == 7)
    }
}
