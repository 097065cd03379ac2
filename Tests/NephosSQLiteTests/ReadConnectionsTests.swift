import Dispatch
import NephosStorage
import NephosThreads
import Synchronization
import Testing

@testable import NephosSQLite

/// How reads share a store's connections, and the threads that run them.
@Suite struct ReadConnectionsTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() async throws {
        directory = try TemporaryDirectory()
        path = directory.file("store.sqlite")
        let engine = try SQLiteEngine(path: path)
        _ = try await engine.fill(10)
        await engine.close()
    }

    private func pool(limit: Int, threads: Int = 8) -> ReadConnections {
        ReadConnections(limit: limit, threads: BlockingPool("test", .init(threads: threads))) { [path] in
            try StoreFile.openReader(path, SQLiteOptions())
        }
    }

    private func pool(limit: Int, sharing threads: BlockingPool) -> ReadConnections {
        ReadConnections(limit: limit, threads: threads) { [path] in try StoreFile.openReader(path, SQLiteOptions()) }
    }

    /// Reads that hold their threads until `release` is signalled once for each of them.
    private func hold(_ count: Int, _ pool: ReadConnections, _ release: DispatchSemaphore) async -> [Task<
        Void, any Error
    >] {
        let (started, signal) = AsyncStream<Void>.makeStream()
        let tasks = (0..<count).map { _ in
            Task {
                try await pool.read { reader in
                    _ = try reader.recordTypes()
                    signal.yield()
                    release.wait()
                }
            }
        }
        var count = count
        for await _ in started {
            count -= 1
            if count == 0 { break }
        }
        return tasks
    }

    @Test(arguments: [2, 3, 4])
    func `short reads are answered while long ones block all threads and connections but one`(limit: Int) async throws {
        let pool = pool(limit: limit, threads: limit)
        let release = DispatchSemaphore(value: 0)
        let long = await hold(limit - 1, pool, release)
        for _ in 0..<20 { #expect(try await pool.read { try $0.zones(owner: .everyone).count } == 1) }
        for _ in long { release.signal() }
        for task in long { try await task.value }
        await pool.close()
    }

    @Test func `reads wait for a busy connection, and closing finishes them`() async throws {
        let pool = pool(limit: 2)
        let release = DispatchSemaphore(value: 0)
        let long = await hold(2, pool, release)
        let waiting = (0..<50).map { _ in Task { try await pool.read { try $0.zones(owner: .everyone).count } } }
        for _ in long { release.signal() }
        for task in waiting { #expect(try await task.value == 1) }
        await pool.close()
        for task in long { try await task.value }
        #expect(try await storageError { try await pool.read { _ in } }?.code == .closed)
    }

    @Test func `long reads of one store do not delay another's`() async throws {
        let threads = BlockingPool("test", .init(threads: 3))
        let (busy, other) = (pool(limit: 2, sharing: threads), pool(limit: 2, sharing: threads))
        let release = DispatchSemaphore(value: 0)
        let long = await hold(2, busy, release)
        let waiting = (0..<20).map { _ in Task { try await busy.read { try $0.zones(owner: .everyone).count } } }
        for _ in 0..<20 { #expect(try await other.read { try $0.zones(owner: .everyone).count } == 1) }
        for _ in long { release.signal() }
        for task in waiting { #expect(try await task.value == 1) }
        for task in long { try await task.value }
        await busy.close()
        await other.close()
    }

    @Test func `a thread that may block borrows a free connection, and does not wait for one`() async throws {
        let pool = pool(limit: 1)
        #expect(try pool.readHere { try $0.zones(owner: .everyone).count } == 1)
        let release = DispatchSemaphore(value: 0)
        let long = await hold(1, pool, release)
        #expect(try pool.readHere { _ in true } == nil)
        release.signal()
        for task in long { try await task.value }
        await pool.close()
        #expect(throws: StorageError.self) { _ = try pool.readHere { _ in } as Void? }
    }

    @Test func `a connection that cannot be opened fails the read, and the next read retries`() async throws {
        let attempts = Atomic(0)
        let pool = ReadConnections(limit: 1) { [path] in
            if attempts.add(1, ordering: .relaxed).oldValue < 2 { throw StorageError(.inputOutput, "not yet") }
            return try StoreFile.openReader(path, SQLiteOptions())
        }
        for _ in 0..<2 { #expect(try await storageError { try await pool.read { _ in } }?.message == "not yet") }
        #expect(try await pool.read { try $0.zones(owner: .everyone).count } == 1)
        await pool.close()
    }

    @Test func `reads in bursts of every size, and one by one, are all answered`() async throws {
        let pool = pool(limit: 3)
        for size in 1...40 {
            let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<size { group.addTask { try await pool.read { try $0.zones(owner: .everyone).count } } }
                return try await group.reduce(0, +)
            }
            #expect(sum == size)
            for _ in 0..<size { _ = try await pool.read { try $0.zones(owner: .everyone).count } }
        }
        await pool.close()
    }

    @Test func `a read that throws does not disturb the other reads of its snapshot`() async throws {
        struct Refusal: Error {}
        let pool = pool(limit: 1)
        let release = DispatchSemaphore(value: 0)
        let long = await hold(1, pool, release)
        let tasks = (0..<30).map { index in
            Task {
                try await pool.read { reader in
                    if index % 3 == 0 { throw Refusal() }
                    return try reader.zones(owner: .everyone).count
                }
            }
        }
        release.signal()
        for (index, task) in tasks.enumerated() {
            switch await task.result {
            case .success(let count): #expect(count == 1 && index % 3 != 0)
            case .failure(let error): #expect(error is Refusal && index % 3 == 0)
            }
        }
        for task in long { try await task.value }
        await pool.close()
    }

    @Test func `a read over the budget of a short one may end, and is restarted as a long one`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("store.sqlite")
        let engine = try SQLiteEngine(path: path)
        let zone = try await engine.fill(2000, bytes: 10)
        await engine.close()
        let attempts = Atomic(0)
        @Sendable func count(_ reader: StorageReader) throws -> Int {
            attempts.add(1, ordering: .relaxed)
            // A body that goes on after a failure saw no more for that.
            return (try? reader.records(zone: zone, after: 0, limit: .max, size: .max).count) ?? -1
        }
        func pool(own: Int = 1999, long: Int64 = .max / 2) -> ReadConnections {
            ReadConnections(limit: 2, short: 1999, own: own, long: long) {
                try StoreFile.openReader(path, SQLiteOptions())
            }
        }
        let patient = pool()
        await #expect(throws: LongRead.self) { try await patient.read(expecting: .short, count) }
        #expect(attempts.load(ordering: .relaxed) == 1)
        #expect(try await patient.read(expecting: .long, count) == 2000)
        #expect(attempts.load(ordering: .relaxed) == 2)
        #expect(try await patient.read(count) == 2000 && attempts.load(ordering: .relaxed) == 4)
        #expect(try await patient.read(expecting: .short) { try $0.zones(owner: .everyone).count } == 1)
        await patient.close()
        let strict = pool(long: 0)
        #expect(try await storageError { _ = try await strict.read(count) }?.code == .tooLong)
        #expect(try await strict.read { try $0.zones(owner: .everyone).count } == 1)
        await strict.close()
        let roomy = pool(own: .max / 2)
        #expect(try await roomy.read(count) == 2000 && attempts.load(ordering: .relaxed) == 7)
        await roomy.close()
    }

    @Test func `work counts rows, bytes and steps within a statement`() async throws {
        let connection = try Connection(path: ":memory:", access: .writing)
        func rows(_ text: String) throws -> Int {
            let statement = try connection.prepare(text: text)
            defer { statement.finalize() }
            var count = 0
            while try statement.step() {
                _ = statement.bytesInPlace(0)
                count += 1
            }
            return count
        }
        func tens(_ end: Int) -> String {
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(end)) SELECT i FROM n"
        }
        let meter = connection.meter
        func work(_ limit: Int, _ text: String) -> (work: Int, isExceeded: Bool) {
            meter.begin(.work(limit))
            _ = try? rows(text)
            return meter.end()
        }
        #expect(work(11, tens(10)) == (10, false))
        #expect(work(9, tens(10)).isExceeded)
        #expect(work(1 + 128, "SELECT zeroblob(65536)") == (129, false))
        #expect(work(129, "SELECT zeroblob(65536) UNION ALL SELECT 1").isExceeded)
        // One row, for which many are scanned.
        #expect(work(1000, "SELECT count(*) FROM (\(tens(100_000)))").isExceeded)
        // Without a limit.
        #expect(try rows(tens(10_000)) == 10_000 && !meter.end().isExceeded)
        connection.close()
    }

    @Test func `a read in memory that takes too long fails, and the next ones do not`() async throws {
        @Sendable func count(_ reader: StorageReader) throws -> Int {
            // Enough for a look at the clock.
            for _ in 0..<500 { _ = try? reader.zones(after: 0, limit: 10) }
            return 1
        }
        for (limit, expected) in [(0, StorageError.Code.tooLong), (Int64.max / 2, nil)] {
            let connection = try Connection(path: ":memory:", access: .writing)
            try connection.migrate(Migration.all)
            let queue = try WriteQueue(connection: connection, readLimit: limit)
            #expect(try await storageError { _ = try await queue.read(count) }?.code == expected)
            // Too short for a look at the clock; a write has no limit.
            #expect(try await queue.read { try $0.zones(owner: .everyone).count } == 0)
            #expect(try await queue.write { try count($0) } == 1)
            await queue.close()
        }
    }

    @Test func `a read that is expected to be long starts once, as a long read`() async throws {
        let pool = ReadConnections(limit: 2, threads: BlockingPool("test", .init(threads: 1)), short: 0, long: .max / 2)
        { [path] in
            try StoreFile.openReader(path, SQLiteOptions())
        }
        let attempts = Atomic(0)
        try await pool.read(expecting: .long) { reader in
            attempts.add(1, ordering: .relaxed)
            for _ in 0..<500 { _ = try reader.zones(after: 0, limit: 10) }
        }
        #expect(attempts.load(ordering: .relaxed) == 1)
        await pool.close()
    }

    @Test func `the work of a request's reads adds up, on disk and in memory`() async throws {
        let memory = try SQLiteEngine(inMemory: SQLiteOptions())
        _ = try await memory.fill(10)
        for engine in [try SQLiteEngine(path: path), memory] {
            let times = RequestTimes()
            try await RequestTimes.$current.withValue(times) {
                for _ in 0..<3 { _ = try await engine.read(expecting: .short) { try $0.lostSequences() } }
                #expect(times.readWork == 0)
                _ = try await engine.read(expecting: .short) { try $0.zones(owner: .everyone) }
                #expect(times.readWork == 1)
                _ = try await engine.read(expecting: .long) { try $0.zones(owner: .everyone) }
                #expect(times.readWork == 2)
            }
            await engine.close()
        }
    }
}
