import Dispatch
import Synchronization
import Testing

@testable import NephosStorage

/// How writes are grouped, step by step, on a connection that only takes notes.
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

    @Test("A write that waits alone has no savepoint and is answered after its commit")
    func alone() async throws {
        let connection = FakeConnection()
        let queue = try WriteQueue(connection: connection)
        queue.add(write: FakeWork("a", connection.log) { _ = try $0.nextSequence() })
        await queue.close()
        #expect(connection.log.entries == ["begin", "run a", "setLastSequence", "commit", "answer a", "close"])
    }

    @Test("Writes that wait together share one commit, one change of the sequence, and are answered after it")
    func together() async throws {
        let connection = FakeConnection()
        let works = ["a", "b"].map { FakeWork($0, connection.log) { _ = try $0.nextSequence() } }
        #expect(
            try await group(works, connection) == [
                "begin", "run a", "run b", "setLastSequence", "commit", "answer a", "answer b", "close",
            ])
    }

    @Test("A write that throws before it changed anything leaves nothing to undo")
    func throwing() async throws {
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

    @Test("When a write throws that changed something, it and those before it run again, each in a savepoint")
    func throwingAfterAChange() async throws {
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

    @Test("Changes to one zone are noted once for a group")
    func notedOnce() async throws {
        let connection = FakeConnection()
        let works = ["a", "b"].map {
            FakeWork($0, connection.log) { try $0.noteChange(zone: ZoneKey(owner: .everyone, id: 1)) }
        }
        #expect(
            try await group(works, connection) == [
                "begin", "run a", "run b", "noteChange", "commit", "answer a", "answer b", "close",
            ])
    }

    @Test("A group of which nothing is left is rolled back, not committed")
    func nothingLeft() async throws {
        let connection = FakeConnection()
        let works = ["a", "b"].map { FakeWork($0, connection.log) { _ in throw FakeError() } }
        let log = try await group(works, connection)
        #expect(log.filter { $0 == "commit" } == [])
        #expect(log.suffix(4) == ["rollback", "fail a FakeError()", "fail b FakeError()", "close"])
    }

    @Test("A commit that fails fails the whole group, and the next write is unharmed")
    func failingCommit() async throws {
        let connection = FakeConnection()
        let works = [
            FakeWork("a", connection.log) { _ in connection.fails.insert("commit") },
            FakeWork("b", connection.log) { _ in throw FakeError() },
        ]
        let log = try await group(works, connection)
        #expect(
            log.suffix(5) == ["commit", "rollback", "fail a inputOutput: commit", "fail b FakeError()", "close"])
    }

    @Test("A transaction that cannot begin fails those who wait for it")
    func failingBegin() async throws {
        let connection = FakeConnection()
        connection.fails.insert("begin")
        let queue = try WriteQueue(connection: connection)
        queue.add(write: FakeWork("a", connection.log))
        await queue.close()
        #expect(connection.log.entries == ["begin", "fail a inputOutput: begin", "close"])
    }

    @Test("When the database gives up the transaction, those who ran in it fail and the others run in the next")
    func lostTransaction() async throws {
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

    @Test("A group is bounded, and nobody is left out")
    func bounded() async throws {
        let connection = FakeConnection()
        let works = (0..<1000).map { FakeWork("\($0)", connection.log) }
        let log = try await group(works, connection)
        #expect(log.filter { $0 == "commit" }.count >= 4)
        #expect(log.filter { $0.hasPrefix("answer") } == (0..<1000).map { "answer \($0)" })
    }

    @Test("A sequence that a failed commit took is not given again")
    func sequenceAfterFailure() async throws {
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

    @Test("A closed queue refuses work")
    func closed() async throws {
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
    private let name: String
    private let log: Log
    private let body: (StorageTransaction) throws -> Void

    init(_ name: String, _ log: Log, _ body: @escaping (StorageTransaction) throws -> Void = { _ in }) {
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
