import Dispatch
import Synchronization
import Testing

@testable import NephosStorage

/// The grouping of writes, step by step, on a recording connection.
@Suite struct WriteQueueTests {
    /// Hands in works while the thread is busy with a first one, so that they form one group; returns what happened
    /// after the first.
    private func group(_ works: [FakeWork], _ connection: FakeConnection) async throws -> [String] {
        let queue = try WriteQueue(connection: connection)
        let isQueued = DispatchSemaphore(value: 0)
        let (isRunning, signal) = AsyncStream<Void>.makeStream()
        let first = FakeWork("first", connection.log) { _ in
            signal.yield()
            isQueued.wait()
        }
        queue.add(write: first)
        for await _ in isRunning { break }
        for work in works { queue.add(write: work) }
        isQueued.signal()
        await queue.close()
        let log = connection.log.entries
        return Array(log[((log.firstIndex(of: "answer first") ?? -1) + 1)...])
    }

    @Test func `a write that waits alone has no savepoint and is answered after its commit`() async throws {
        let connection = FakeConnection()
        let queue = try WriteQueue(connection: connection)
        queue.add(write: FakeWork("a", connection.log) { _ = try $0.nextSequence() })
        await queue.close()
        #expect(connection.log.entries == ["begin", "run a", "setLastSequence", "commit", "answer a", "close"])
    }

    @Test func `writes that wait together share one commit and one sequence change, and are answered after it`()
        async throws
    {
        let connection = FakeConnection()
        let works = ["a", "b"].map { FakeWork($0, connection.log) { _ = try $0.nextSequence() } }
        #expect(
            try await group(works, connection) == [
                "begin", "run a", "run b", "setLastSequence", "commit", "answer a", "answer b", "close",
            ])
    }

    @Test func `a write that throws before its first change leaves nothing to roll back`() async throws {
        let connection = FakeConnection()
        let works = [
            FakeWork("a", connection.log), FakeWork("b", connection.log) { _ in throw FakeError() },
            FakeWork("c", connection.log),
        ]
        #expect(
            try await group(works, connection) == [
                "begin", "run a", "run b", "run c", "commit", "answer a", "fail b FakeError()", "answer c", "close",
            ])
    }

    @Test func `after a write throws mid-change, it and the writes before it are retried, each in a savepoint`()
        async throws
    {
        let connection = FakeConnection()
        let zone = ZoneKey(owner: .everyone, id: 1)
        let works = [
            FakeWork("a", connection.log) { try $0.noteChange(zone: zone) },
            FakeWork("b", connection.log) { transaction in
                try transaction.noteChange(zone: ZoneKey(owner: .everyone, id: 2))
                try transaction.removeJob(id: 1)
                throw FakeError()
            },
            FakeWork("c", connection.log),
        ]
        #expect(
            try await group(works, connection) == [
                "begin", "run a", "run b", "removeJob", "rollback",
                "begin", "savepoint", "run a", "releaseSavepoint", "savepoint", "run b", "removeJob",
                "rollbackToSavepoint", "releaseSavepoint", "noteChange", "commit", "answer a", "fail b FakeError()",
                "begin", "run c", "commit", "answer c", "close",
            ])
    }

    @Test func `changes to one zone are noted once per group`() async throws {
        let connection = FakeConnection()
        let works = ["a", "b"].map {
            FakeWork($0, connection.log) { try $0.noteChange(zone: ZoneKey(owner: .everyone, id: 1)) }
        }
        #expect(
            try await group(works, connection) == [
                "begin", "run a", "run b", "noteChange", "commit", "answer a", "answer b", "close",
            ])
    }

    @Test func `an empty group is rolled back, not committed`() async throws {
        let connection = FakeConnection()
        let works = ["a", "b"].map { FakeWork($0, connection.log) { _ in throw FakeError() } }
        let log = try await group(works, connection)
        #expect(log.filter { $0 == "commit" } == [])
        #expect(log.suffix(4) == ["rollback", "fail a FakeError()", "fail b FakeError()", "close"])
    }

    @Test func `a failing commit fails the whole group, and the next write succeeds`() async throws {
        let connection = FakeConnection()
        let works = [
            FakeWork("a", connection.log) { _ in connection.fails.insert("commit") },
            FakeWork("b", connection.log) { _ in throw FakeError() },
        ]
        let log = try await group(works, connection)
        #expect(
            log.suffix(5) == ["commit", "rollback", "fail a inputOutput: commit", "fail b FakeError()", "close"])
    }

    @Test func `a transaction that cannot begin fails the waiting writes`() async throws {
        let connection = FakeConnection()
        connection.fails.insert("begin")
        let queue = try WriteQueue(connection: connection)
        queue.add(write: FakeWork("a", connection.log))
        await queue.close()
        #expect(connection.log.entries == ["begin", "fail a inputOutput: begin", "close"])
    }

    @Test func `when the database rolls back a transaction, its writes fail and the others run in the next one`()
        async throws
    {
        let connection = FakeConnection()
        let works = [
            FakeWork("a", connection.log), FakeWork("b", connection.log) { _ in connection.isInTransaction = false },
            FakeWork("c", connection.log),
        ]
        let log = try await group(works, connection)
        #expect(
            log == [
                "begin", "run a", "run b", "begin", "savepoint", "run a", "releaseSavepoint", "savepoint", "run b",
                "fail a other: the transaction was lost", "fail b other: the transaction was lost", "begin", "run c",
                "commit", "answer c", "close",
            ])
    }

    @Test func `a group is bounded, and every write is answered`() async throws {
        let connection = FakeConnection()
        let works = (0..<1000).map { FakeWork("\($0)", connection.log) }
        let log = try await group(works, connection)
        #expect(log.filter { $0 == "commit" }.count >= 4)
        #expect(log.filter { $0.hasPrefix("answer") } == (0..<1000).map { "answer \($0)" })
    }

    @Test func `owners take turns, and the one who had the last turn comes after the others`() async throws {
        let connection = FakeConnection()
        let works = [("a", 1), ("b", 1), ("c", 2), ("d", nil), ("e", 2), ("f", 3), ("g", nil)].map {
            FakeWork($0.0, of: $0.1, connection.log)
        }
        // The first write of `group` has no owner.
        let log = try await group(works, connection)
        #expect(log.filter { $0.hasPrefix("run") } == ["a", "c", "f", "b", "d", "e", "g"].map { "run \($0)" })
    }

    @Test func `a sequence number of a failed commit is not reused`() async throws {
        let connection = FakeConnection()
        connection.fails.insert("commit")
        let queue = try WriteQueue(connection: connection)
        let seen = Mutex<[Int64]>([])
        let work = { (name: String) in
            FakeWork(name, connection.log) { transaction in
                let next = try transaction.nextSequence()
                seen.withLock { $0.append(next) }
            }
        }
        queue.add(write: work("a"))
        queue.add(write: work("b"))
        await queue.close()
        #expect(seen.withLock { $0 } == [1, 2])
    }

    @Test func `a closed queue refuses work`() async throws {
        let connection = FakeConnection()
        let queue = try WriteQueue(connection: connection)
        await queue.close()
        queue.add(write: FakeWork("late", connection.log))
        #expect(connection.log.entries == ["close", "fail late closed: the store is closed"])
    }
}

private struct FakeError: Error {}

private final class FakeWork: Work {
    let times: RequestTimes? = nil
    let owner: OwnerID?
    private let name: String
    private let log: Log
    private let body: (StorageTransaction) throws -> Void

    init(
        _ name: String, of owner: Int64? = nil, _ log: Log,
        _ body: @escaping (StorageTransaction) throws -> Void = { _ in }
    ) {
        self.owner = owner.map { OwnerID(rawValue: $0) }
        self.name = name
        self.log = log
        self.body = body
    }

    func run(_ access: StorageTransaction) -> (any Error)? {
        log.add("run \(name)")
        do {
            try body(access)
            return nil
        } catch {
            return error
        }
    }

    func answer(failure: (any Error)?) {
        log.add(failure.map { "fail \(name) \($0)" } ?? "answer \(name)")
    }
}
