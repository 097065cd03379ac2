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
}
