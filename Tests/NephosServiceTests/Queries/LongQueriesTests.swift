import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// An account that asks for much waits for itself, and others do not.
@Suite struct LongQueriesTests {
    private let queries = LongQueries()
    private let many = Limits.recordsOfShortQuery + 1

    @Test func `a reader's queries are short until one looked at much, and again after a while`() async throws {
        func isLong(_ reader: LongQueries.Reader, at now: Int64) async throws -> Bool {
            try await queries.read(by: reader, at: now) { $0 }
        }
        queries.note(records: many - 1, entries: 19, by: .account(1), at: 0)
        #expect(try await !isLong(.account(1), at: 0))
        queries.note(records: many, entries: 0, by: .account(1), at: 0)
        queries.note(records: 0, entries: 20 * many, by: .query(1), at: 0)
        #expect(try await isLong(.account(1), at: 999))
        #expect(try await isLong(.query(1), at: 999))
        #expect(try await !isLong(.account(2), at: 999))
        #expect(try await !isLong(.query(2), at: 999))
        #expect(try await !isLong(.account(1), at: 1000))
    }

    private final class Log: Sendable {
        let reading = Atomic(0)
        let ended = Mutex<[Int]>([])
    }

    @Test func `of a reader's long queries one reads at a time, in their order, and another's goes beside it`()
        async throws
    {
        for account: Int64 in [1, 2] { queries.note(records: many, entries: 0, by: .account(account), at: 0) }
        let (turns, began) = AsyncStream<Int>.makeStream()
        let gates = (0..<3).map { _ in AsyncStream<Void>.makeStream() }
        let log = Log()
        var tasks: [Task<Void, any Error>] = []
        var iterator = turns.makeAsyncIterator()
        for index in 0..<3 {
            let stream = gates[index].stream
            tasks.append(
                Task { [queries] in
                    try await queries.read(by: .account(1), at: 0) { isLong in
                        #expect(isLong)
                        #expect(log.reading.add(1, ordering: .relaxed).newValue == 1)
                        began.yield(index)
                        for await _ in stream { break }
                        log.ended.withLock { $0.append(index) }
                        log.reading.subtract(1, ordering: .relaxed)
                    }
                })
            if index == 0 { #expect(await iterator.next() == 0) }
            while queries.waiting(of: .account(1)) < index { await Task.yield() }
        }
        try await queries.read(by: .account(2), at: 0) { isLong in #expect(isLong) }
        for gate in gates { gate.continuation.yield() }
        for task in tasks { try await task.value }
        #expect(log.ended.withLock(\.self) == [0, 1, 2])
        #expect(queries.waiting(of: .account(1)) == 0)
    }

    @Test func `where too many wait the next is refused, and a reader's failure gives its turn on`() async throws {
        struct Failure: Error {}
        queries.note(records: many, entries: 0, by: .account(1), at: 0)
        let gate = AsyncStream<Void>.makeStream()
        let tasks = (0...Limits.waitingLongQueries).map { _ in
            Task { [queries, stream = gate.stream] in
                try await queries.read(by: .account(1), at: 0) { _ in
                    for await _ in stream { break }
                    throw Failure()
                }
            }
        }
        while queries.waiting(of: .account(1)) < Limits.waitingLongQueries { await Task.yield() }
        let error = await #expect(throws: ServiceError.self) {
            try await queries.read(by: .account(1), at: 0) { _ in }
        }
        #expect(error?.clientCode == .requestRateLimited && error?.retryAfter != nil)
        gate.continuation.finish()
        for task in tasks { await #expect(throws: Failure.self) { try await task.value } }
    }

    @Test func `of readers beyond the limit it is not remembered that their queries are long`() async throws {
        for index in 0..<Limits.longQueryReaders {
            queries.note(records: many, entries: 0, by: .query(index), at: 0)
        }
        queries.note(records: many, entries: 0, by: .account(1), at: 0)
        #expect(try await queries.read(by: .account(1), at: 0) { !$0 })
        queries.note(records: many, entries: 0, by: .account(1), at: 1000)
        #expect(try await queries.read(by: .account(1), at: 1000) { $0 })
    }

    @Test func `the pages of a count over many records are long reads, and so is the account's next query`()
        async throws
    {
        let stores = NotedStores()
        let cloud = TestCloud(ServiceConfiguration(), stores: stores)
        let (busy, other) = (TestDatabase(cloud, "busy"), TestDatabase(cloud, "other"))
        for database in [busy, other] {
            for start in stride(from: 0, to: 800, by: 400) {
                _ = try await database.modify(
                    (start..<start + 400).map { .create("n\($0)", ["rank": .int64(Int64($0))]) })
            }
        }
        let all = Query(recordType: "Note", filterBy: [Filter(.field("rank"), .notEquals, .int64(-1))])
        func count(_ database: TestDatabase) async throws -> [ReadLength] {
            let request = QueryRecordsRequest(query: all, wantsCount: true)
            // The first makes the index.
            #expect(try await cloud.service.queryRecords(request, database.context).count == 800)
            return stores.takeReads()
        }
        _ = try await count(busy)
        #expect(try await count(busy).contains(.long))
        _ = stores.takeReads()
        let few = QueryRecordsRequest(query: Query(recordType: "Note"), resultsLimit: 1)
        _ = try await cloud.service.queryRecords(few, other.context)
        #expect(!stores.takeReads().contains(.long))
        _ = try await cloud.service.queryRecords(few, busy.context)
        #expect(stores.takeReads().contains(.long))
        cloud.advance(milliseconds: Limits.longQueryMemory)
        _ = try await cloud.service.queryRecords(few, busy.context)
        #expect(!stores.takeReads().contains(.long))
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

        func read<T: Sendable>(_ body: @escaping @Sendable (any StorageReader) throws -> T) async throws -> T {
            try await engine.read(body)
        }

        func read<T: Sendable>(
            expecting length: ReadLength, _ body: @escaping @Sendable (any StorageReader) throws -> T
        ) async throws -> T {
            stores.reads.withLock { $0.append(length) }
            return try await engine.read(body)
        }

        func write<T: Sendable>(
            _ body: @escaping @Sendable (any StorageTransaction) throws -> T
        ) async throws -> T {
            try await engine.write(body)
        }

        func close() async { await engine.close() }
    }
}
