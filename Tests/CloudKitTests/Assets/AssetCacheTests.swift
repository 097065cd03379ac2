import Foundation
import Glibc
import Testing

@testable import CloudKit

/// The cache of downloaded files, and its eviction.
@Suite struct AssetCacheTests {
    private let files: TestFiles
    private let cache: AssetFiles
    private var root: URL { files.folder.appendingPathComponent("cache") }

    init() throws {
        files = try TestFiles()
        cache = AssetFiles(root: files.folder.appendingPathComponent("cache"))
    }

    private func mode(_ url: URL) -> mode_t {
        var status = stat()
        return stat(url.path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    /// Puts a file with holes into the cache, which was last used so many hours ago.
    private func add(_ name: String, megabytes: off_t, hoursAgo: Int) throws {
        let file = try cache.makeTemporary("account")
        try Data().write(to: file)
        truncate(file.path, megabytes << 20)
        let then = timeval(tv_sec: time(nil) - hoursAgo * 3600, tv_usec: 0)
        utimes(file.path, [then, then])
        try cache.add(file, as: name, of: "account")
    }

    private func cached() throws -> Set<String> {
        let folder = root.appendingPathComponent("contents/account").path
        return Set(try FileManager.default.contentsOfDirectory(atPath: folder))
    }

    @Test func `the cache is bounded, and evicts the least recently used file`() throws {
        // What is examined is bounded too, so the first addition looks at all, and later ones after 64 MB.
        try add("first", megabytes: 1, hoursAgo: 5)
        for (number, hours) in [4, 3, 2, 1].enumerated() {
            try add("big\(number)", megabytes: 300, hoursAgo: hours)
        }
        #expect(try cached() == ["big2", "big3"])
        #expect(mode(root.appendingPathComponent("contents/account")) == 0o700)
    }

    @Test func `a content larger than the whole cache stays until the next one`() throws {
        try add("first", megabytes: 1, hoursAgo: 2)
        try add("huge", megabytes: 1100, hoursAgo: 3)
        #expect(try cached() == ["huge"])
        try add("huger", megabytes: 1200, hoursAgo: 4)
        #expect(try cached() == ["huger"])
    }

    @Test func `an asset keeps its file when its content is evicted`() throws {
        let file = try cache.makeTemporary("account")
        try Data("content".utf8).write(to: file)
        try cache.add(file, as: "name", of: "account")
        let copy = try #require(try cache.copy("name", of: "account"))
        #expect(try cache.copy("name", of: "other account") == nil)
        try FileManager.default.removeItem(at: root.appendingPathComponent("contents"))
        #expect(try Data(contentsOf: copy.url) == Data("content".utf8))
        #expect(mode(copy.url.deletingLastPathComponent()) == 0o700)
    }

    @Test func `a cache that cannot be made again closes no descriptor but its own`() throws {
        let manager = FileManager.default
        _ = try cache.makeFile()
        try manager.removeItem(at: root)
        #expect(manager.createFile(atPath: root.path, contents: nil))
        #expect(throws: (any Error).self) { _ = try cache.makeFile() }
        let others = (0..<64).map { _ in open("/dev/null", O_RDONLY) }
        defer { for other in others { close(other) } }
        for _ in 0..<2 { #expect(throws: (any Error).self) { _ = try cache.makeFile() } }
        #expect(others.allSatisfy { fcntl($0, F_GETFD) >= 0 })
        try manager.removeItem(at: root)
        _ = try cache.makeFile()
    }

    @Test func `a cache that is cleared while the program runs is made again`() throws {
        for _ in 0..<2 {
            let file = try cache.makeTemporary("account")
            try Data("content".utf8).write(to: file)
            try cache.add(file, as: "name", of: "account")
            let copy = try #require(try cache.copy("name", of: "account"))
            #expect(try Data(contentsOf: copy.url) == Data("content".utf8))
            try FileManager.default.removeItem(at: root)
            #expect(try Data(contentsOf: try #require(try newCopy()).url) == Data("new".utf8))
            try FileManager.default.removeItem(at: root.appendingPathComponent("copies"))
        }
    }

    /// A copy of a content that is put into the cache now.
    private func newCopy() throws -> AssetFileKeeper? {
        let file = try cache.makeTemporary("account")
        try Data("new".utf8).write(to: file)
        try cache.add(file, as: "new", of: "account")
        return try cache.copy("new", of: "account")
    }

    @Test func `a running process's files stay, and an ended one's are deleted after a day`() throws {
        func folder(_ name: String) throws -> URL {
            let folder = root.appendingPathComponent("copies/\(name)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data("content".utf8).write(to: folder.appendingPathComponent("file"))
            try Data().write(to: folder.appendingPathComponent("lock"))
            return folder
        }
        let living = try folder("1-living")
        let ended = try folder("2-ended")
        let recent = try folder("3-recent")
        let lock = open(living.appendingPathComponent("lock").path, O_RDWR | O_CLOEXEC)
        defer { close(lock) }
        #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
        let then = timeval(tv_sec: time(nil) - 30 * 3600, tv_usec: 0)
        for folder in [living, ended] { utimes(folder.path, [then, then]) }
        _ = try cache.makeFile()
        #expect(FileManager.default.fileExists(atPath: living.appendingPathComponent("file").path))
        #expect(!FileManager.default.fileExists(atPath: ended.path))
        #expect(FileManager.default.fileExists(atPath: recent.appendingPathComponent("file").path))
    }
}

/// Files during their upload, and in shared databases.
@Suite struct AssetSituationTests {
    @Test(arguments: Transport.allCases)
    func `a file that changes while it is uploaded is assetFileModified`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let file = try files.file(pattern(8_000_000))
            let record = note("photo")
            record["image"] = CKAsset(fileURL: file)
            let operation = CKModifyRecordsOperation(recordsToSave: [record])
            operation.perRecordProgressBlock = { _, _ in
                guard let handle = try? FileHandle(forWritingTo: file) else { return }
                _ = try? handle.seekToEnd()
                try? handle.write(contentsOf: Data("more".utf8))
            }
            let code = Locked<CKError.Code?>(nil)
            operation.perRecordSaveBlock = { _, result in
                if case .failure(let error as CKError) = result { code.withLock { $0 = error.code } }
            }
            await withCheckedContinuation { continuation in
                operation.modifyRecordsResultBlock = { _ in continuation.resume() }
                cloud.database().add(operation)
            }
            #expect(code.withLock { $0 } == .assetFileModified)
            #expect(try await cloud.database().existing([record]) == [])
        }
    }

    @Test(arguments: Transport.allCases)
    func `only participants read and write assets of a share`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let list = try await SharedList(cloud.container("alice"))
            let owner = list.owner.privateCloudDatabase
            list.item["image"] = CKAsset(fileURL: try files.file("alice's"))
            try await owner.saveAll([list.item])
            let share = try await list.share(with: "bob@localhost")
            let guest = cloud.container("bob")
            try await guest.join(share.url)
            let zone = try #require(try await guest.sharedCloudDatabase.allRecordZones().first)
            let id = CKRecord.ID(recordName: "milk", zoneID: zone.zoneID)
            let shared = try await guest.sharedCloudDatabase.record(for: id)
            #expect(try shared.text("image") == "alice's")
            shared["image"] = CKAsset(fileURL: try files.file("bob's"))
            try await guest.sharedCloudDatabase.saveAll([shared])
            let changed = try await owner.record(for: list.item.recordID)
            #expect(try changed.text("image") == "bob's")

            let again = try await guest.sharedCloudDatabase.record(for: id)
            changed["image"] = CKAsset(fileURL: try files.file("alice's again"))
            try await owner.saveAll([changed])
            again["image"] = CKAsset(fileURL: try files.file("bob's, late"))
            #expect(await guest.sharedCloudDatabase.codeOfSaving(again) == .serverRecordChanged)
            let stranger = cloud.container("mallory").sharedCloudDatabase
            #expect(await codeOf { _ = try await stranger.record(for: id) } != nil)
        }
    }
}
