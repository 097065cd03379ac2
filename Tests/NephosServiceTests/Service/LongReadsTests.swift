import NephosSQLite
import NephosStorage
import NephosTesting
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// Long reads of an account are serialised, and do not delay other accounts.
@Suite struct LongReadsTests {
    private let reads = LongReads()

    private final class Log: Sendable {
        let reading = Atomic(0)
        let ended = Mutex<[Int]>([])
    }

    @Test func `one account's long reads are serialised, and another account's are concurrent`() async throws {
        let (turns, began) = AsyncStream<Int>.makeStream()
        let gates = (0..<3).map { _ in AsyncStream<Void>.makeStream() }
        let log = Log()
        var tasks: [Task<Void, any Error>] = []
        var iterator = turns.makeAsyncIterator()
        for index in 0..<3 {
            let stream = gates[index].stream
            tasks.append(
                Task { [reads] in
                    try await reads.read(by: .account(1)) {
                        #expect(log.reading.add(1, ordering: .relaxed).newValue == 1)
                        began.yield(index)
                        for await _ in stream { break }
                        log.ended.withLock { $0.append(index) }
                        log.reading.subtract(1, ordering: .relaxed)
                    }
                })
            if index == 0 { #expect(await iterator.next() == 0) }
            await eventually { reads.waiting(of: .account(1)) >= index }
        }
        for other in [LongReads.Reader.account(2), .address([]), .address([1])] { try await reads.read(by: other) {} }
        for gate in gates { gate.continuation.yield() }
        for task in tasks { try await task.value }
        #expect(log.ended.withLock(\.self) == [0, 1, 2])
        #expect(reads.waiting(of: .account(1)) == 0)
    }

    @Test func `a long read is refused if too many wait, and a failing one passes its turn on`() async throws {
        struct Failure: Error {}
        let gate = AsyncStream<Void>.makeStream()
        let tasks = (0...Limits.waitingLongReads).map { _ in
            Task { [reads, stream = gate.stream] in
                try await reads.read(by: .account(1)) {
                    for await _ in stream { break }
                    throw Failure()
                }
            }
        }
        await eventually { reads.waiting(of: .account(1)) >= Limits.waitingLongReads }
        let error = await #expect(throws: ServiceError.self) { try await reads.read(by: .account(1)) {} }
        #expect(error?.clientCode == .requestRateLimited && error?.retryAfter != nil)
        gate.continuation.finish()
        for task in tasks { await #expect(throws: Failure.self) { try await task.value } }
    }

    @Test func `callers without an account take turns by address`() async throws {
        let cloud = TestCloud(ServiceConfiguration(), stores: MemoryStores())
        _ = try await TestDatabase(cloud, "ann", .public).modify([.create("note")])
        let everyone = TestDatabase(cloud, nil, .public)
        let longReads = try #require(cloud.service.openStores.first).longReads
        let gate = AsyncStream<Void>.makeStream()
        let (held, holds) = AsyncStream<Void>.makeStream()
        let holder = Task {
            try await longReads.read(by: .address([1])) {
                holds.yield()
                for await _ in gate.stream { break }
            }
        }
        for await _ in held { break }
        func lookUp(from client: [UInt8]) async throws {
            let times = RequestTimes(client: client)
            times.noteRead(work: ReadMeter.shortRead)
            try await RequestTimes.$current.withValue(times) { _ = try await everyone.lookup("note") }
        }
        try await lookUp(from: [2])
        let waiting = Task { try await lookUp(from: [1]) }
        await eventually { longReads.waiting(of: .address([1])) != 0 }
        gate.continuation.finish()
        try await holder.value
        try await waiting.value
    }

    private static func fill(_ database: TestDatabase, _ count: Int, bytes: Int = 0) async throws {
        let text = String(repeating: "x", count: bytes)
        for start in stride(from: 0, to: count, by: 400) {
            _ = try await database.modify(
                (start..<min(start + 400, count)).map {
                    .create("n\($0)", ["rank": .int64(Int64($0)), "text": .string(text)])
                })
        }
    }

    @Test func `a query that scans much restarts as a long read, with all its options`() async throws {
        let stores = NotedStores()
        let cloud = TestCloud(ServiceConfiguration(), stores: stores)
        let (busy, other) = (TestDatabase(cloud, "busy"), TestDatabase(cloud, "other"))
        for database in [busy, other] { try await Self.fill(database, 2000) }
        let all = Query(recordType: "Note", filterBy: [Filter(.field("rank"), .notEquals, .int64(-1))])
        func count(_ database: TestDatabase) async throws -> [ReadLength] {
            let request = QueryRecordsRequest(query: all, wantsCount: true)
            // The first makes the index.
            #expect(try await cloud.service.queryRecords(request, database.context).count == 2000)
            return stores.takeReads()
        }
        _ = try await count(busy)
        #expect(try await count(busy).suffix(2) == [.query, .long])
        let few = QueryRecordsRequest(query: Query(recordType: "Note"), resultsLimit: 200)
        for database in [other, busy] {
            #expect(try await cloud.service.queryRecords(few, database.context).records.count == 200)
            #expect(!stores.takeReads().contains(.long))
        }
        // After one that was long, all reads of a request are.
        try await RequestTimes.$current.withValue(RequestTimes()) { _ = try await count(busy) }
        _ = try await RequestTimes.$current.withValue(RequestTimes()) {
            let first = try await count(busy)
            #expect(first.contains(.long))
            #expect(try await count(busy).allSatisfy { $0 == .long })
        }
    }

    @Test func `lookups and change pages of megabytes are long reads, and those of a few records are not`() async throws
    {
        let stores = NotedStores()
        let cloud = TestCloud(ServiceConfiguration(), stores: stores)
        let database = TestDatabase(cloud, "busy")
        for name in ["a", "b", "c", "d"] {
            _ = try await database.modify([.create(name, ["text": .string(String(repeating: "x", count: 900_000))])])
        }
        _ = stores.takeReads()
        func lookup(_ names: [String]) async throws -> [ReadLength] {
            let request = LookupRecordsRequest(records: names.map { .init(recordName: $0) })
            let records = try await cloud.service.lookupRecords(request, database.context).records
            #expect(records.count == names.count)
            return stores.takeReads()
        }
        #expect(try await !lookup(["a"]).contains(.long))
        #expect(try await !lookup(["a", "b"]).contains(.long))
        #expect(try await lookup(["a", "b", "c", "d"]).contains(.long))
    }
}

/// Stores that note which length their reads are expected to have.
private final class NotedStores: StoreProvider {
    private let provider: any StoreProvider = MemoryStores()
    private let reads = Mutex<[ReadLength]>([])

    func takeReads() -> [ReadLength] {
        reads.withLock { reads in
            defer { reads = [] }
            return reads
        }
    }

    func open(_ id: StoreID) throws -> any StorageEngine { Engine(self, try provider.open(id)) }
    func assets(of id: StoreID) throws -> any AssetStore { try provider.assets(of: id) }
    func existingStores() throws -> [StoreID] { try provider.existingStores() }
    func close() { provider.close() }

    private final class Engine: StorageEngine {
        private let stores: NotedStores
        private let engine: any StorageEngine

        init(_ stores: NotedStores, _ engine: any StorageEngine) {
            self.stores = stores
            self.engine = engine
        }

        func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T {
            try await engine.read(body)
        }

        func read<T: Sendable>(
            expecting length: ReadLength, _ body: @escaping @Sendable (StorageReader) throws -> T
        ) async throws -> T {
            stores.reads.withLock { $0.append(length) }
            return try await engine.read(expecting: length, body)
        }

        func write<T: Sendable>(
            of owners: Set<OwnerID>, _ body: @escaping @Sendable (StorageTransaction) throws -> T
        ) async throws -> T {
            try await engine.write(of: owners, body)
        }

        func close() async { await engine.close() }
    }
}
