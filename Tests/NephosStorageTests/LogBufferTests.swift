import Foundation
import Testing

@testable import NephosSQLite
@testable import NephosStorage

/// Frames of the write-ahead log that are written together.
@Suite struct LogBufferTests {
    /// A log in memory, which can be full.
    private final class Log: LogWriting {
        var bytes: [UInt8] = []
        var writes = 0
        var isFull = false

        func write(_ bytes: UnsafeRawPointer, _ size: Int, _ offset: Int64) -> Int32 {
            guard !isFull else { return 13 }
            // As SQLite's own methods.
            guard size < 1 << 17 else { return 13 }
            writes += 1
            let end = Int(offset) + size
            if self.bytes.count < end { self.bytes += [UInt8](repeating: 0, count: end - self.bytes.count) }
            self.bytes.replaceSubrange(Int(offset)..<end, with: UnsafeRawBufferPointer(start: bytes, count: size))
            return 0
        }
    }

    /// What SQLite writes of frames, and what the log is to be.
    private struct Writer {
        let buffer = LogBuffer()
        let log = Log()
        var expected: [UInt8] = []
        var frames = 0
        var pageSize = 512

        mutating func write(_ bytes: [UInt8], at place: Int) -> Int32 {
            if expected.count < place + bytes.count {
                expected += [UInt8](repeating: 0, count: place + bytes.count - expected.count)
            }
            expected.replaceSubrange(place..<place + bytes.count, with: bytes)
            return bytes.withUnsafeBytes { buffer.write($0.baseAddress, $0.count, Int64(place), log) }
        }

        mutating func begin() -> Int32 {
            frames = 0
            return write([UInt8](repeating: 7, count: 32), at: 0)
        }

        func place(_ frame: Int) -> Int { 32 + frame * (24 + pageSize) }

        func header(commits: Bool) -> [UInt8] {
            [0, 0, 0, 9, 0, 0, 0, commits ? 1 : 0] + [UInt8](repeating: UInt8(frames & 255), count: 16)
        }

        mutating func frame(commits: Bool) -> Int32 {
            let code = write(header(commits: commits), at: place(frames))
            let page = [UInt8](repeating: UInt8(frames * 7 & 255), count: pageSize)
            let second = write(page, at: place(frames) + 24)
            frames += 1
            return code != 0 ? code : second
        }
    }

    @Test("The frames of a transaction are written together, and are there once it is committed")
    func together() {
        var writer = Writer()
        #expect(writer.begin() == 0)
        for count in [1, 5, 40] {
            writer.log.writes = 0
            for number in 1...count { #expect(writer.frame(commits: number == count) == 0) }
            #expect(writer.log.bytes == writer.expected)
            #expect(writer.log.writes == 1)
        }
    }

    @Test("More than fits is written before the transaction commits", arguments: [512, 4096, 65536])
    func long(_ pageSize: Int) {
        var writer = Writer()
        writer.pageSize = pageSize
        #expect(writer.begin() == 0)
        for _ in 0..<(1_000_000 / pageSize) { #expect(writer.frame(commits: false) == 0) }
        #expect(writer.log.bytes.count > 850_000)
        #expect(writer.frame(commits: true) == 0)
        #expect(writer.log.bytes == writer.expected)
    }

    @Test("A transaction whose frames cannot be written fails, and the next is written where it belongs")
    func full() {
        var writer = Writer()
        #expect(writer.begin() == 0)
        #expect(writer.frame(commits: true) == 0)
        let written = writer.log.bytes
        let place = writer.frames
        #expect(writer.frame(commits: false) == 0)
        writer.log.isFull = true
        #expect(writer.frame(commits: true) == 13)
        #expect(writer.log.bytes == written)
        writer.log.isFull = false
        writer.frames = place
        #expect(writer.frame(commits: false) == 0)
        #expect(writer.frame(commits: true) == 0)
        #expect(writer.log.bytes == writer.expected)
    }

    @Test("What cannot be written before the log is read gives up the whole transaction, also where the disk is full")
    func fullBeforeReading() {
        var writer = Writer()
        #expect(writer.begin() == 0)
        #expect(writer.frame(commits: false) == 0)
        writer.log.isFull = true
        // SQLITE_IOERR_WRITE, and not SQLITE_FULL.
        #expect(writer.buffer.finish(writer.log) == 778)
        writer.log.isFull = false
        #expect(writer.buffer.finish(writer.log) == 0)
        writer.frames = 0
        #expect(writer.frame(commits: true) == 0)
        #expect(writer.log.bytes == writer.expected)
    }

    @Test(
        "Headers written anew, transactions given up and logs begun anew end where SQLite puts them", arguments: 1...10)
    func anyOrder(_ seed: UInt64) {
        var random = SplitMix(state: seed)
        var writer = Writer()
        #expect(writer.begin() == 0)
        for _ in 0..<100 {
            let first = writer.frames
            for _ in 0..<random.below(6) { #expect(writer.frame(commits: false) == 0) }
            switch random.below(6) {
            case 0:
                // Given up: its frames are written over.
                writer.frames = first
                continue
            case 1 where writer.frames > first:
                // A page that was written before, once more.
                let place = writer.place(first + random.below(writer.frames - first)) + 24
                let page = [UInt8](repeating: 0xEE, count: writer.pageSize)
                #expect(writer.write(page, at: place) == 0)
                #expect(writer.frame(commits: true) == 0)
                for frame in first..<writer.frames {
                    let header = writer.header(commits: frame + 1 == writer.frames)
                    #expect(writer.write(header, at: writer.place(frame)) == 0)
                }
            case 2:
                #expect(writer.frame(commits: true) == 0)
                #expect(writer.log.bytes == writer.expected, "seed \(seed)")
                if random.below(4) == 0 { #expect(writer.begin() == 0) }
            default:
                #expect(writer.frame(commits: true) == 0)
            }
            #expect(writer.log.bytes == writer.expected, "seed \(seed)")
        }
    }

    // MARK: With SQLite

    /// Transactions of all lengths, some larger than the cache, some given up in part or whole: another connection and
    /// whoever opens the files as a crash would leave them see what was committed.
    @Test("What is committed is there for others and after a crash", arguments: 1...4)
    func transactions(_ seed: UInt64) throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("store.sqlite")
        let crashed = directory.file("crashed.sqlite")
        try makeFile(path)
        let writer = try Connection(path: path, access: .writing)
        try writer.execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = 10;
            CREATE TABLE item (id INTEGER PRIMARY KEY, value BLOB NOT NULL);
            """)
        writer.gatherLog()
        let reader = try Connection(path: path, access: .reading)
        var random = SplitMix(state: seed)
        var expected: [Int64: Int64] = [:]
        for round in 0..<40 {
            let before = expected
            try writer.execute("BEGIN IMMEDIATE")
            for _ in 0..<random.below(40) {
                let (id, size) = (Int64(random.below(400)), Int64(random.below(6000)))
                let kept = expected
                try writer.execute("SAVEPOINT part")
                try writer.execute("INSERT OR REPLACE INTO item VALUES (\(id), zeroblob(\(size)))")
                expected[id] = size
                if random.below(5) == 0 {
                    try writer.execute("ROLLBACK TO part")
                    expected = kept
                }
                try writer.execute("RELEASE part")
            }
            if random.below(4) == 0 {
                try writer.execute("ROLLBACK")
                expected = before
            } else {
                try writer.execute("COMMIT")
            }
            try check(reader, expected, "seed \(seed), round \(round)")
            guard round % 10 == 9 else { continue }
            for suffix in ["", "-wal"] {
                try? FileManager.default.removeItem(atPath: crashed + suffix)
                try FileManager.default.copyItem(atPath: path + suffix, toPath: crashed + suffix)
            }
            try? FileManager.default.removeItem(atPath: "\(crashed)-shm")
            let opened = try Connection(path: crashed, access: .writing)
            try check(opened, expected, "seed \(seed), round \(round), after a crash")
            #expect(try opened.text("PRAGMA integrity_check") == "ok")
            opened.close()
            if random.below(2) == 0 { writer.checkpoint() }
        }
        reader.close()
        writer.close()
    }

    private func check(_ connection: Connection, _ expected: [Int64: Int64], _ comment: Comment) throws {
        #expect(try connection.number("SELECT count(*) FROM item") == expected.count, comment)
        #expect(
            try connection.number("SELECT coalesce(sum((id + 1) * (length(value) + 7)), 0) FROM item")
                == expected.reduce(0) { $0 + ($1.key + 1) * ($1.value + 7) }, comment)
    }
}

extension Connection {
    fileprivate func text(_ query: String) throws -> String {
        let statement = try prepare(text: query)
        defer { statement.finalize() }
        return try statement.step() ? statement.text(0) : ""
    }
}
