import Foundation
import NephosStorage
import Testing

@testable import NephosObjectStorage

/// Files in object storage, against a stand-in that verifies signatures.
@Suite(.onThreads, .enabled(if: ObjectStorageStandIn.isInstalled, ObjectStorageStandIn.missing))
struct ObjectAssetStoreTests {
    private let service: ObjectStorageStandIn
    private let id = StoreID(container: "iCloud.org.example.App", environment: "development")
    private let spool = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-\(UUID().uuidString)")

    init() throws { service = try ObjectStorageStandIn() }

    private func store(
        secret: String? = nil, _ adjust: (inout ObjectStorageOptions.Limits) -> Void = { _ in }
    ) -> ObjectAssetStore {
        var options = service.options(secret: secret)
        adjust(&options.limits)
        return ObjectAssetStore(ObjectRequests(options), id, spool: spool.path)
    }

    private func entries() throws -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: spool.path)) ?? []
    }

    @discardableResult
    private func write(_ content: [UInt8], as name: String, to store: ObjectAssetStore) throws -> any AssetFileWriter {
        let file = try store.makeFile()
        for start in stride(from: 0, to: content.count, by: 300_000) {
            try content[start..<min(start + 300_000, content.count)].withUnsafeBytes { try file.write($0) }
        }
        try file.publish(as: name)
        return file
    }

    private func content(_ reader: any AssetFileReader, from offset: Int64 = 0) throws -> [UInt8] {
        var found: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 500_000)
        while true {
            let position = offset + Int64(found.count)
            let count = try buffer.withUnsafeMutableBytes { try reader.read(into: $0, at: position) }
            if count == 0 { return found }
            found += buffer[..<count]
        }
    }

    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    @Test func `a file of any size reads back as it was written, from any offset`() throws {
        defer { try? FileManager.default.removeItem(at: spool) }
        let store = store()
        for (number, size) in [0, 1, 2 << 20, (2 << 20) + 1, 5_000_000].enumerated() {
            try write(bytes(size), as: "file-\(number)", to: store).settle()
            let reader = try #require(try store.open("file-\(number)"))
            #expect(reader.size == Int64(size))
            #expect(try content(reader) == bytes(size))
            #expect(try content(reader, from: Int64(size / 3)) == Array(bytes(size)[(size / 3)...]))
        }
        #expect(try entries() == [])
        #expect(try store.files(after: "", limit: 100) == (0..<5).map { "file-\($0)" })
        #expect(try store.files(after: "file-1", limit: 2) == ["file-2", "file-3"])
        try store.remove("file-0")
        try store.remove("file-0")
        #expect(try store.open("file-0") == nil)
        #expect(try store.files(after: "", limit: 100).count == 4)
        #expect(throws: StorageError.self) { _ = try store.open("../other") }
    }

    @Test func `foreign objects and files are skipped`() throws {
        defer { try? FileManager.default.removeItem(at: spool) }
        let store = store()
        for name in ["file-1", "file-3"] { try write([1], as: name, to: store).settle() }
        let requests = ObjectRequests(service.options(secret: nil))
        try FileManager.default.createDirectory(at: spool, withIntermediateDirectories: true)
        let other = spool.appendingPathComponent("a.tar.gz")
        try Data([1]).write(to: other)
        // The SHA-256 of a byte that is 1.
        let digest: [UInt8] = [
            0x4B, 0xF5, 0x12, 0x2F, 0x34, 0x45, 0x54, 0xC5, 0x3B, 0xDE, 0x2E, 0xBB, 0x8C, 0xD2, 0xB7, 0xE3,
            0xD1, 0x60, 0x0A, 0xD6, 0x31, 0xC3, 0x85, 0xA5, 0xD7, 0xCC, 0xE2, 0x3C, 0x77, 0x85, 0x45, 0x9A,
        ]
        for name in ["file-2.txt", "file-4.txt", "sub/file"] {
            try requests.put("\(id.container)/\(id.environment)/\(name)", file: other.path, hash: digest)
        }
        #expect(try store.files(after: "", limit: 10) == ["file-1", "file-3"])
        #expect(try store.files(after: "file-1", limit: 1) == ["file-3"])
        #expect(try store.files(after: "file-3", limit: 1) == [])
        #expect(try store.leftovers(olderThan: 0).isEmpty && entries() == ["a.tar.gz"])
    }

    @Test func `an upload takes one request, and so does a small file's download`() throws {
        defer { try? FileManager.default.removeItem(at: spool) }
        let store = store()
        try write(bytes(1_000_000), as: "file", to: store).settle()
        #expect(try service.requests() == ["PUT"])
        _ = try content(try #require(try store.open("file")))
        #expect(try service.requests() == ["GET"])
    }

    @Test func `a wrong secret is an error, and nothing is stored`() throws {
        defer { try? FileManager.default.removeItem(at: spool) }
        let stranger = store(secret: "wrong")
        let error = #expect(throws: StorageError.self) { try write([1], as: "file", to: stranger) }
        #expect(error?.message.contains("403 SignatureDoesNotMatch") == true, "\(error?.message ?? "")")
        #expect(throws: StorageError.self) { _ = try stranger.open("file") }
        #expect(try service.requests() == ["PUT", "GET"])
        #expect(try store().files(after: "", limit: 10) == [])
    }

    @Test func `a check of writes leaves nothing, and says which request was refused`() throws {
        let requests = ObjectRequests(service.options())
        func objects() throws -> [String] { try requests.list(after: "", under: "", limit: 10).keys }
        try requests.checkWrites()
        #expect(try service.requests() == ["PUT", "GET", "DELETE"])
        #expect(try objects() == [])
        for (faults, action) in [
            (["denied"], "storing"), ([nil, "denied"], "reading"), ([nil, nil, "denied"], "deleting"),
        ] {
            try service.setFaults(faults)
            let error = #expect(throws: StorageError.self) { try requests.checkWrites() }
            let message = try #require(error?.message)
            #expect(message.contains("403 AccessDenied, while \(action) the object nephos-check-"), "\(message)")
            #expect(try objects().count == (action == "deleting" ? 1 : 0))
        }
    }

    @Test func `a failed upload uses no quota, and is removed once the service is reachable`() throws {
        defer { try? FileManager.default.removeItem(at: spool) }
        let store = store()
        // It may have been stored all the same.
        try service.setFaults(["500", "500", "500", "500"])
        #expect(throws: StorageError.self) { try write(bytes(100_000), as: "file", to: store) }
        let left = try entries()
        #expect(left.count == 1 && left[0].hasSuffix(".file"))
        let size = try FileManager.default.attributesOfItem(atPath: "\(spool.path)/\(left[0])")[.size] as? Int
        #expect(size == 0)
        for leftover in try store.leftovers(olderThan: 0) { try leftover.end(false) }
        #expect(try entries() == [] && store.files(after: "", limit: 10) == [])
    }

    @Test func `answers of 500, slow answers and cut answers are retried a limited number of times`() throws {
        defer { try? FileManager.default.removeItem(at: spool) }
        let store = store { $0.silence = .seconds(1) }
        try service.setFaults(["500", "500"])
        try write(bytes(100_000), as: "file", to: store).settle()
        #expect(try service.requests() == ["PUT", "PUT", "PUT"])
        try service.setFaults(["slow", "500"])
        #expect(try store.files(after: "", limit: 10) == ["file"])
        try service.setFaults(["cut"])
        #expect(try content(try #require(try store.open("file"))) == bytes(100_000))
        try service.setFaults(["500"])
        try store.remove("file")

        try service.setFaults(Array(repeating: "500", count: 5))
        #expect(throws: StorageError.self) { _ = try store.open("file") }
        #expect(try service.requests().count == 4)
    }

    @Test func `a repeating list is an error, and no list is endless`() throws {
        defer { try? FileManager.default.removeItem(at: spool) }
        let store = store()
        for name in ["file-a", "file-b", "file-c"] { try write([1], as: name, to: store).settle() }
        #expect(try store.files(after: "", limit: 2) == ["file-a", "file-b"])
        _ = try service.requests()
        try service.setFaults(["again"])
        let error = #expect(throws: StorageError.self) { _ = try store.files(after: "file-b", limit: 2) }
        #expect(error?.message.contains("lists objects again") == true, "\(error?.message ?? "")")
        #expect(try service.requests() == ["GET"])
        #expect(try store.files(after: "file-b", limit: 2) == ["file-c"])
    }

    @Test func `an object whose row a crash prevented is removed by the next start`() throws {
        defer { try? FileManager.default.removeItem(at: spool) }
        do {
            let store = store()
            try write([1], as: "with-row", to: store)
            try write([2], as: "without-row", to: store)
            _ = try store.makeFile()
        }
        // A file that was never whole, as a kill leaves it.
        try Data([3]).write(to: spool.appendingPathComponent("unfinished"))
        let next = store()
        let left = try next.leftovers(olderThan: 0).sorted { $0.name < $1.name }
        #expect(left.map(\.name) == ["with-row", "without-row"])
        try left[0].end(true)
        try left[1].end(false)
        #expect(try next.files(after: "", limit: 10) == ["with-row"])
        #expect(try entries() == [] && next.leftovers(olderThan: 0).isEmpty)
    }

    @Test func `the files of a removed container go in pieces, and those of others stay`() throws {
        defer { try? FileManager.default.removeItem(at: spool) }
        let requests = ObjectRequests(service.options(secret: nil))
        let provider = ObjectStorageProvider(NoStores(), requests, spool: spool.path)
        let places = [
            ("iCloud.a", "development"), ("iCloud.a", "production"), ("iCloud.a.b", "development"), ("iCloud", "a"),
        ].map { StoreID(container: $0.0, environment: $0.1) }
        for place in places {
            let assets = try provider.assets(of: place)
            for number in 0..<3 {
                let file = try assets.makeFile()
                try [UInt8(7)].withUnsafeBytes { try file.write($0) }
                try file.publish(as: "file-\(number)")
                try file.settle()
            }
            // A process that ended before it settled the file.
            let left = try assets.makeFile()
            try left.publish(as: "left")
        }
        var pieces = 0
        while let piece = try provider.removalPiece(of: "iCloud.a", limit: 2) {
            pieces += 1
            try piece.remove()
            // Once more, as by a server that stopped meanwhile.
            try piece.remove()
        }
        #expect(pieces >= 2)
        let left = try places.map { try provider.assets(of: $0).files(after: "", limit: 10).count }
        #expect(left == [0, 0, 4, 4])
        #expect(try entries().sorted() == ["iCloud", "iCloud.a.b"])
        #expect(try provider.removalPiece(of: "iCloud.a", limit: 2) == nil)
        requests.close()
    }

    @Test func `what a provider knows of its stores is asked of it, also with assets in object storage`() throws {
        let requests = ObjectRequests(service.options(secret: nil))
        let provider = ObjectStorageProvider(NoStores(), requests, spool: spool.path)
        let names = [StoreID(container: "iCloud.a", environment: "development"): "mei"]
        #expect(try provider.firstAccountNames() == names)
        #expect(try provider.lock("schema of iCloud.a") != nil)
        #expect(throws: StorageError.self) { try provider.checkErasesDeletedRows() }
        #expect(throws: StorageError.self) { try provider.eraseDeletedRows() }
        requests.close()
    }

    /// A provider without stores.
    private struct NoStores: StoreProvider {
        private struct Lock: StoreLock {
            func release() {}
        }

        func firstAccountNames() throws -> [StoreID: String]? {
            [StoreID(container: "iCloud.a", environment: "development"): "mei"]
        }
        func lock(_ name: String) throws -> (any StoreLock)? { Lock() }
        func checkErasesDeletedRows() throws { throw StorageError(.constraint, "another role owns the tables") }
        func eraseDeletedRows() throws { throw StorageError(.constraint, "another role owns the tables") }
        func open(_ id: StoreID) throws -> any StorageEngine { throw StorageError(.other, "there are no stores") }
        func assets(of id: StoreID) throws -> any AssetStore { throw StorageError(.other, "there are no stores") }
        func existingStores() -> [StoreID] { [] }
        func close() {}
    }

    @Test func `a discarded file is gone, and its removal stays pending while the service is unreachable`() throws {
        defer { try? FileManager.default.removeItem(at: spool) }
        let store = store()
        try write([1], as: "file", to: store).discard()
        #expect(try store.files(after: "", limit: 10) == [] && entries() == [])
        let file = try write([1], as: "file-2", to: store)
        try service.setFaults(Array(repeating: "500", count: 4))
        file.discard()
        let left = try store.leftovers(olderThan: 0)
        #expect(left.map(\.name) == ["file-2"])
        try left.first?.end(false)
        #expect(try store.files(after: "", limit: 10) == [])
    }
}
