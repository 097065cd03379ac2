import Foundation
import NephosSQLite
import NephosStorage
import NephosTesting
import NephosThreads
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// The limits of uploads, full disks and races.
@Suite struct AssetBoundsTests {
    private let cloud: TestCloud
    private let me: TestDatabase

    init() {
        cloud = TestCloud()
        me = TestDatabase(cloud)
    }

    private func token(_ record: String, _ database: TestDatabase, field: String = "file") async throws -> String {
        let answer = try await cloud.service.assetUploads(
            AssetUploadRequest(tokens: [AssetField(recordName: record, recordType: "Note", fieldName: field)]),
            database.context)
        return try answer.firstToken()
    }

    private func begin(
        _ record: String, _ database: TestDatabase, size: Int64? = nil, field: String = "file"
    ) async throws -> AssetUpload {
        try await cloud.service.beginUpload(
            try await token(record, database, field: field), size: size, container: "iCloud.test", .development,
            requestID: "R")
    }

    private func upload(_ content: String, _ record: String, field: String = "file") async throws -> AssetValue {
        let upload = try await begin(record, me, field: field)
        try await upload.append(Array(content.utf8))
        return try await upload.finish().singleFile
    }

    private func store() throws -> Store { try #require(cloud.service.openStores.first) }

    private func names() async throws -> [String] {
        let files = try store().assets.files
        return try await BlockingPool.disk.run { try files.files(after: "", limit: 1000) }
    }

    @Test func `an account's concurrent uploads are limited, and do not limit other accounts`() async throws {
        var uploads: [AssetUpload] = []
        for number in 0..<Limits.uploadsPerAccount { uploads.append(try await begin("r\(number)", me)) }
        let refusal = await #expect(throws: ServiceError.self) { _ = try await begin("more", me) }
        #expect(refusal?.retryAfter != nil)
        _ = try await begin("r", TestDatabase(cloud, "tom"))
        uploads.removeLast()
        _ = try await begin("more", me)
    }

    @Test func `a file that may not be saved is an error of its own beside the addresses of others`() async throws {
        let (mei, tom) = (TestDatabase(cloud, "mei", .public), TestDatabase(cloud, "tom", .public))
        #expect(try await mei.modify([.create("mei's")]).map(\.summary) == ["saved"])
        let fields = [
            AssetField(recordName: "first", recordType: "Note", fieldName: "file"),
            AssetField(recordName: "mei's", recordType: "Note", fieldName: "file"),
            AssetField(recordName: "unknown", fieldName: "file"),
            AssetField(recordName: "last", recordType: "Note", fieldName: "file"),
        ]
        let answer = try await cloud.service.assetUploads(AssetUploadRequest(tokens: fields), tom.context)
        let codes = answer.tokens.map {
            if case .failure(let error) = $0 { error.serverErrorCode.rawValue } else { "" }
        }
        #expect(codes == ["", "ACCESS_DENIED", "BAD_REQUEST", ""])
        #expect(answer.failures.map(\.recordName) == ["mei's", "unknown"])
    }

    @Test func `a record's assets are limited, with those of the fields that a save keeps`() async throws {
        let values = (try await upload("one", "r", field: "one"), try await upload("two", "r", field: "two"))
        func list(_ value: AssetValue, _ count: Int) -> FieldValue {
            .list(of: .asset, Array(repeating: .asset(value), count: count))
        }
        func code(_ operation: RecordOperation) async throws -> Int? {
            try await me.modify([operation])[0].error?.clientErrorCode
        }
        let limit = Limits.assetsPerRecord
        #expect(try await code(.create("r", ["one": list(values.0, limit + 1)])) == 27)
        #expect(try await code(.create("r", ["one": list(values.0, limit - 1)])) == nil)
        #expect(try await code(.force("r", ["two": list(values.1, 2)])) == 27)
        #expect(try await code(.force("r", ["two": list(values.1, 1)])) == nil)
        #expect(try await code(.force("r", ["one": list(values.0, 1), "two": list(values.1, limit)])) == 27)
        #expect(try await code(.force("r", ["one": list(values.0, 1), "two": list(values.1, limit - 1)])) == nil)
        var replacement = RecordOperation.force("r", ["two": list(values.1, limit)])
        replacement.operationType = .forceReplace
        #expect(try await code(replacement) == nil)
    }

    @Test func `an account's announced bytes are bounded, except for one file`() async throws {
        let first = try await begin("a", me, size: Limits.assetSize)
        var held = [first]
        await #expect(throws: ServiceError.self) {
            while held.count < Limits.uploadsPerAccount * 4 {
                held.append(try await begin("r\(held.count)", me, size: Limits.assetSize))
            }
        }
        #expect(Int64(held.count) * Limits.assetSize <= max(Limits.uploadedBytesPerAccount, Limits.assetSize))
    }

    @Test func `concurrent uploads of one content store it once, and every receipt is valid`() async throws {
        let values = try await withThrowingTaskGroup(of: (String, AssetValue).self) { group in
            for number in 0..<12 {
                group.addTask { ("r\(number)", try await upload("the same content", "r\(number)")) }
            }
            return try await group.reduce(into: [(String, AssetValue)]()) { $0.append($1) }
        }
        #expect(try await names().count == 1)
        for (record, value) in values {
            #expect(try await me.modify([.create(record, ["file": .asset(value)])]).map(\.summary) == ["saved"])
        }
        #expect(try await store().engine.read { try $0.assetBytes(owner: OwnerID(rawValue: 1)) } == 16)
        let findings = try await StoreVerification(try store().engine, try store().assets.files).run()
        #expect(findings.problems == [] && findings.orphans == [])
        #expect(findings.records == 14)  // With the two of the account.
    }

    @Test(arguments: [nil, "short", "CONTENT"])
    func `an upload replaces a missing or damaged file of its content`(instead: String?) async throws {
        let first = try await upload("content", "a")
        #expect(try await me.modify([.create("a", ["file": .asset(first)])]).map(\.summary) == ["saved"])
        let store = try store()
        let (files, before) = (store.assets.files, try #require(try await names().first))
        try await BlockingPool.disk.run {
            try files.remove(before)
            guard let instead else { return }
            let file = try files.makeFile()
            try Array(instead.utf8).withUnsafeBytes { try file.write($0) }
            try file.publish(as: before)
            try file.settle()
        }
        let again = try await upload("content", "b")
        #expect(try await me.modify([.create("b", ["file": .asset(again)])]).map(\.summary) == ["saved"])
        try await store.assets.collect(neededBefore: cloud.now)
        let after = try await names()
        #expect(after.count == 1 && after != [before])
        let findings = try await StoreVerification(store.engine, files).run()
        #expect(findings.problems == [] && findings.orphans == [])
        _ = try await upload("content", "c")
        #expect(try await names() == after)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `under concurrent saves, removals and collections every record has its file`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<15 {
            let contents = (0..<4).map { "content \($0)" }
            let plan = (0..<8).map { _ in (Int.random(in: 0..<6, using: &random), Int.random(in: 0..<4, using: &random))
            }
            try await cloud.withStore { store in
                cloud.advance(milliseconds: 8 * 86_400_000)
                let now = cloud.now
                _ = try await upload("first", "first")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await store.assets.collect(neededBefore: now) }
                    for (lane, (record, content)) in plan.enumerated() {
                        group.addTask {
                            if lane % 3 == 2 {
                                _ = try await me.modify([.delete("r\(record)")])
                            } else {
                                let value = try await upload(contents[content], "r\(record)")
                                // It may conflict with another lane's save, and is then not saved at all.
                                _ = try await me.modify([.force("r\(record)", ["file": .asset(value)])])
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let findings = try await StoreVerification(store.engine, store.assets.files).run()
                #expect(findings.problems == [] && findings.orphans == [], "seed \(seed)")
            }
        }
    }

    @Test func `a backup that holds the files keeps condemned ones`() async throws {
        _ = try await upload("content", "a")
        try await cloud.withStore { store in
            cloud.advance(milliseconds: 8 * 86_400_000 + 1)
            let now = cloud.now
            let files = store.assets.files
            var hold = try await BlockingPool.disk.run { try files.holdFiles() }
            try await store.assets.collect(neededBefore: now)
            #expect(try await names().count == 1 && hold != nil)
            hold = nil
            try await store.assets.collect(neededBefore: now)
            #expect(try await names() == [])
        }
    }
}
