import Foundation
import NephosSQLite
import NephosStorage
import NephosThreads
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// Uploads to a disk that is full, or becomes so.
@Suite struct AssetDiskTests {
    private let disk = SmallDisk()
    private let cloud: TestCloud
    private let me: TestDatabase

    init() {
        cloud = TestCloud(ServiceConfiguration(), stores: disk)
        me = TestDatabase(cloud)
    }

    private func upload(_ size: Int, _ record: String) async throws -> AssetValue {
        let answer = try await cloud.service.assetUploads(
            AssetUploadRequest(tokens: [AssetField(recordName: record, recordType: "Note", fieldName: "file")]),
            me.context)
        let token = try answer.firstToken()
        let upload = try await cloud.service.beginUpload(
            token, size: Int64(size), container: "iCloud.test", .development, requestID: "R")
        for start in stride(from: 0, to: size, by: 1000) {
            try await upload.append([UInt8](repeating: 7, count: min(1000, size - start)))
        }
        return try await upload.finish().singleFile
    }

    /// Saves a record with a file of that size.
    private func save(_ size: Int, _ record: String) async throws {
        let file = try await upload(size, record)
        #expect(try await me.modify([.create(record, ["file": .asset(file)])]).map(\.summary) == ["saved"])
    }

    private func names() async throws -> [String] {
        let files = try #require(cloud.service.openStores.first).assets.files
        return try await BlockingPool.disk.run { try files.files(after: "", limit: 1000) }
    }

    private func expectNoRoom(_ size: Int, _ record: String) async {
        let refusal = await #expect(throws: ServiceError.self) { _ = try await upload(size, record) }
        #expect(refusal?.code == .tryAgainLater && refusal?.retryAfter != nil)
        #expect(refusal?.reason.contains("disk") == true || refusal?.reason.contains("storage") == true)
    }

    @Test func `an upload into the space reserved for records is refused, and records are saved`() async throws {
        disk.free.withLock { $0 = Limits.freeDisk + 5000 }
        await expectNoRoom(5001, "a")
        #expect(try await me.modify([.create("plain", [:])]).map(\.summary) == ["saved"])
        try await save(5000, "a")
        disk.free.withLock { $0 = Limits.freeDisk - 1 }
        await expectNoRoom(1, "b")
    }

    @Test(arguments: 0..<10)
    func `a disk that fills at any tenth of a file keeps none of it, and the retry is whole`(tenth: Int) async throws {
        disk.room.withLock { $0 = tenth * 1000 }
        await expectNoRoom(10_000, "a")
        #expect(try await names() == [])
        disk.room.withLock { $0 = .max }
        try await save(10_000, "a")
        let store = try #require(cloud.service.openStores.first)
        let findings = try await StoreVerification(store.engine, store.assets.files).run()
        #expect(findings.problems == [] && findings.orphans == [] && findings.bytes == 10_000)
    }
}

/// Stores in memory whose assets are on a disk that has as much room as a test says.
private final class SmallDisk: StoreProvider {
    /// Bytes that the system says are free.
    let free = Mutex(Int64.max)
    /// Bytes that can be written.
    let room = Mutex(Int.max)
    private let stores = MemoryStores()

    func open(_ id: StoreID) throws -> any StorageEngine { try stores.open(id) }
    func assets(of id: StoreID) throws -> any AssetStore { Files(try stores.assets(of: id), self) }
    func existingStores() -> [StoreID] { [] }
    func close() {}

    private final class Files: AssetStore {
        private let files: any AssetStore
        private let disk: SmallDisk

        init(_ files: any AssetStore, _ disk: SmallDisk) {
            self.files = files
            self.disk = disk
        }

        func makeFile() throws -> any AssetFileWriter { Writer(try files.makeFile(), disk) }
        func open(_ name: String) throws -> (any AssetFileReader)? { try files.open(name) }
        func remove(_ name: String) throws { try files.remove(name) }
        func files(after name: String, limit: Int) throws -> [String] { try files.files(after: name, limit: limit) }
        func leftovers(olderThan seconds: Int64) throws -> [AssetLeftover] {
            try files.leftovers(olderThan: seconds)
        }
        func freeBytes() throws -> Int64? { disk.free.withLock { $0 } }
        func holdFiles() throws -> RemovalLock? { try files.holdFiles() }
        func lockForRemoval() throws -> RemovalLock? { try files.lockForRemoval() }
        func close() { files.close() }
    }

    private final class Writer: AssetFileWriter {
        private let file: any AssetFileWriter
        private let disk: SmallDisk

        init(_ file: any AssetFileWriter, _ disk: SmallDisk) {
            self.file = file
            self.disk = disk
        }

        func write(_ bytes: UnsafeRawBufferPointer) throws {
            let fits = disk.room.withLock { room in
                guard room >= bytes.count else { return false }
                if room != .max { room -= bytes.count }
                return true
            }
            guard fits else { throw StorageError(system: ENOSPC, while: "writing an asset file") }
            try file.write(bytes)
        }

        func publish(as name: String) throws { try file.publish(as: name) }
        func settle() throws { try file.settle() }
        func discard() { file.discard() }
    }
}
