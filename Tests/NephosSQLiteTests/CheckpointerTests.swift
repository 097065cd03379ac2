import Foundation
import NephosTesting
import Testing

@testable import NephosSQLite
@testable import NephosStorage

/// Checkpoints of the write-ahead log.
@Suite struct CheckpointerTests {
    @Test func `the writer leaves a short log alone, and checkpoints the rest of a long one after the thread`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("store.sqlite")
        let writer = try StoreFile.open(path, SQLiteOptions())
        defer { writer.close() }
        let checkpointer = Checkpointer(path: path, options: SQLiteOptions(checkpointPages: 10))
        defer { checkpointer.stop() }
        for pages in 1..<40 { #expect(checkpointer.committed(pages: pages) == .nothing, "\(pages) pages") }
        // Nobody else does it: at the latest at twice the limit.
        let finished = (40...80).first { checkpointer.committed(pages: $0) == .finish }
        #expect(finished != nil)
        // The log restarted.
        #expect(checkpointer.committed(pages: 2) == .nothing)
    }

    @Test(arguments: [1, 4])
    func `the log of a busy store stays bounded, and every write is kept`(writers: Int) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("store.sqlite")
        let (pages, saves) = (20, 400)
        let engine = try SQLiteEngine(path: path, options: SQLiteOptions(durability: .normal, checkpointPages: pages))
        let zone = ZoneKey(owner: .everyone, id: 1)
        var longest: Int64 = 0
        for round in 0..<4 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<writers {
                    group.addTask {
                        for number in 0..<(saves / writers) {
                            try await engine.write {
                                _ = try $0.put(record(zone, "\(round)-\(writer)-\(number)", $0, bytes: 2000))
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            longest = max(longest, FileSystem.size("\(path)-wal"))
        }
        // Twice the limit, and the pages of a commit.
        #expect(longest < Int64((2 * 4 * pages + 100) * 4120), "\(longest) bytes")
        await engine.close()
        #expect(FileSystem.size("\(path)-wal") <= 0)
        let again = try SQLiteEngine(path: path)
        let count = try await again.read { try $0.records(zone: zone, after: 0, limit: 10_000).count }
        #expect(count == 4 * saves)
        await again.close()
    }

    @Test(.timeLimit(.minutes(2)))
    func `the log is checkpointed whenever writers are idle`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("store.sqlite")
        let options = SQLiteOptions(durability: .normal, idleNanoseconds: 1_000_000, idlePages: 1)
        let engine = try SQLiteEngine(path: path, options: options)
        let zone = ZoneKey(owner: .everyone, id: 1)
        for round in 1...3 {
            let name = "\(round)"
            try await engine.write { _ = try $0.put(record(zone, name, $0, bytes: 100_000)) }
            await eventually { FileSystem.size(path) >= round * 100_000 }
            let rows = try await engine.read { try $0.records(zone: zone, after: 0, limit: 10) }
            #expect(rows.map(\.name) == (1...round).map { "\($0)" })
        }
        await engine.close()
    }

    @Test(.timeLimit(.minutes(3)))
    func `a reader maps the pages that a checkpoint of an idle store moves into the file`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("store.sqlite")
        let options = SQLiteOptions(durability: .normal, readers: 1, idleNanoseconds: 100_000_000, idlePages: 1)
        let engine = try SQLiteEngine(path: path, options: options)
        let zone = ZoneKey(owner: .everyone, id: 1)
        try await engine.write { _ = try $0.put(record(zone, "a", $0, bytes: 1_000_000)) }
        func isWholeFileMapped() async throws -> Bool {
            let rows = try await engine.read { try $0.records(zone: zone, after: 0, limit: 10) }
            #expect(rows.map(\.name) == ["a"])
            return try Self.mappedBytes(of: path) == FileSystem.size(path)
        }
        // The reader maps the file while most pages are in the log.
        _ = try await isWholeFileMapped()
        await eventually { FileSystem.size(path) >= 1_000_000 }
        try await eventually { try await isWholeFileMapped() }
        await engine.close()
    }

    /// The size of the process's only mapping of a file.
    private static func mappedBytes(of path: String) throws -> Int64 {
        // The kernel gives a page of it at a time, and `String(contentsOfFile:)` takes only the first.
        let maps = try #require(FileHandle(forReadingAtPath: "/proc/self/maps")).readDataToEndOfFile()
        let lines = String(decoding: maps, as: UTF8.self).split(separator: "\n")
        return lines.filter { $0.hasSuffix(path) }.reduce(0) { sum, line in
            let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { Int64($0, radix: 16) }
            return sum + bounds[1] - bounds[0]
        }
    }
}
