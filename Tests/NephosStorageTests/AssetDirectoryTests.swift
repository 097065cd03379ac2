import Foundation
import Glibc
import NephosStorage
import Testing

/// Files of assets in a directory.
@Suite struct AssetDirectoryTests {
    private let files = AssetDirectory(temporary: "directory\(UInt32.random(in: .min ... .max))")

    private func publish(_ bytes: [UInt8], as name: String) throws {
        let file = try files.makeFile()
        try bytes.withUnsafeBytes { try file.write($0) }
        try file.publish(as: name)
        try file.settle()
    }

    private func readNow(_ file: any AssetFileReader) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 100)
        guard let count = try bytes.withUnsafeMutableBytes({ try file.readNow(into: $0, at: 0) }) else { return nil }
        return Array(bytes.prefix(count))
    }

    @Test func `a file is opened without blocking if the file system reports the resident set`() throws {
        let (name, other) = ("ab" + String(repeating: "0", count: 30), "ab" + String(repeating: "1", count: 30))
        try publish([1, 2, 3], as: name)
        try publish([4], as: other)
        // The file system has not reported yet.
        #expect(try files.openNow(name) == nil)
        let first = try #require(try files.open(name))
        let told = try readNow(first)
        if told == nil { return }
        #expect(told == [1, 2, 3])
        // Not in the cache of names before it was looked up, or was made.
        _ = try files.open(other)
        let now = try #require(try files.openNow(other))
        #expect(now.size == 1)
        #expect(try readNow(now) == [4])
        try files.remove(other)
        #expect(try files.openNow(other) == nil)
        #expect(try files.open(other) == nil)
        files.close()
    }

    @Test(arguments: [true, false])
    func `a temporary directory that outlives a close keeps its files until it is released`(outlives: Bool) throws {
        let name = "ab" + String(repeating: "0", count: 30)
        var files: AssetDirectory? = AssetDirectory(
            temporary: "outliving\(UInt32.random(in: .min ... .max))", outlivesClose: outlives)
        for _ in 0..<2 {
            let file = try #require(try files?.makeFile())
            try [7].withUnsafeBytes { try file.write($0) }
            // The second time the file is there already, if the first one was kept.
            if try files?.open(name) == nil {
                try file.publish(as: name)
                try file.settle()
            } else {
                file.discard()
            }
            files?.close()
            #expect(try (files?.files(after: "", limit: 10) == [name]) == outlives)
        }
        let reader = try files?.open(name)
        #expect((reader != nil) == outlives)
        files = nil
    }

    // MARK: The lock of root's commands

    private static let nobody: uid_t = 65534

    private func owner(_ path: String) throws -> uid_t {
        var status = stat()
        try #require(lstat(path, &status) == 0, "\(path)")
        return status.st_uid
    }

    /// Calls `body` with a directory of the user nobody.
    private func withDirectory(_ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-\(UUID().uuidString)").path
        try FileSystem.makeDirectory(path)
        defer { FileSystem.removeAll(path) }
        #expect(chown(path, Self.nobody, Self.nobody) == 0)
        try body(path)
    }

    @Test(.enabled(if: geteuid() == 0), arguments: [false, true])
    func `the lock that root takes is a file of the directory's owner, also one that root had made before`(
        isThere: Bool
    ) throws {
        try withDirectory { path in
            if isThere {
                try FileSystem.write("", to: "\(path)/removal.lock")
                #expect(chown("\(path)/removal.lock", 0, 0) == 0)
            }
            let hold = try AssetDirectory(path: path).holdFiles()
            #expect(hold != nil)
            #expect(try owner("\(path)/removal.lock") == Self.nobody)
        }
    }

    @Test(.enabled(if: geteuid() == 0))
    func `the directories that root makes for the lock of object storage are the data directory's owner's`() throws {
        try withDirectory { path in
            let hold = try StagingDirectory("\(path)/iCloud.test/development.uploads").lock(.hold)
            #expect(hold != nil)
            for part in ["", "/development.uploads", "/development.uploads/removal.lock"] {
                #expect(try owner("\(path)/iCloud.test\(part)") == Self.nobody, "\(part)")
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0), arguments: [true, false])
    func `root gives nobody a file that is linked in the place of the lock`(isSymbolic: Bool) throws {
        try withDirectory { path in
            let (secret, lock) = ("\(path)/secret", "\(path)/removal.lock")
            try FileSystem.write("root's", to: secret)
            #expect(chown(secret, 0, 0) == 0)
            #expect((isSymbolic ? symlink(secret, lock) : link(secret, lock)) == 0)
            #expect(throws: StorageError.self) { _ = try AssetDirectory(path: path).holdFiles() }
            #expect(try owner(secret) == 0)
        }
    }
}
