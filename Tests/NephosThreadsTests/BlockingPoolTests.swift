import Dispatch
import NephosTesting
import Synchronization
import Testing

@testable import NephosThreads

@Suite struct BlockingPoolTests {
    private final class Log: Sendable {
        let running = Atomic(0)
        let most = Mutex(0)
        let done = Mutex<[Int]>([])

        func add(_ number: Int) { done.withLock { $0.append(number) } }
        var entries: [Int] { done.withLock { $0 } }
    }

    private let log = Log()

    /// Work that holds its thread until `release` is signalled once for each of it.
    private func hold(_ count: Int, _ pool: BlockingPool, _ release: DispatchSemaphore) async -> [Task<Void, any Error>]
    {
        let (started, signal) = AsyncStream<Void>.makeStream()
        let tasks = (0..<count).map { _ in
            Task {
                try await pool.run {
                    signal.yield()
                    release.wait()
                }
            }
        }
        var iterator = started.makeAsyncIterator()
        for _ in 0..<count { await iterator.next() }
        return tasks
    }

    @Test(arguments: [1, 2, 5]) func `concurrent work is limited to the number of threads, and all of it runs`(
        threads: Int
    ) async throws {
        let pool = BlockingPool("test", .init(threads: threads))
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<200 {
                group.addTask { [log] in
                    try await pool.run {
                        let now = log.running.add(1, ordering: .relaxed).newValue
                        log.most.withLock { $0 = max($0, now) }
                        log.running.subtract(1, ordering: .relaxed)
                        return index
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 199 * 100)
        #expect(log.most.withLock(\.self) <= threads)
    }

    @Test func `work beyond the queue's limit is refused with the pool's name`() async throws {
        let pool = BlockingPool("test", .init(threads: 2, queue: 3))
        let release = DispatchSemaphore(value: 0)
        let held = await hold(2, pool, release)
        for _ in 0..<3 {
            pool.start { [log] in
                log.add(1)
            } orFail: { error in
                Issue.record("\(error)")
            }
        }
        let refused = ThreadError.queueFull(pool: "test")
        await #expect(throws: refused) { try await pool.run {} }
        #expect("\(refused)".contains("test"))
        for _ in held { release.signal() }
        for task in held { try await task.value }
        await eventually { log.entries.count >= 3 }
        try await pool.run {}
    }

    @Test func `a task that is cancelled in the queue does not run, and other work does`() async throws {
        let pool = BlockingPool("test", .init(threads: 1))
        let release = DispatchSemaphore(value: 0)
        let held = await hold(1, pool, release)
        let tasks = (0..<3).map { index in
            Task { [log] in try await pool.runUnlessCancelled { log.add(index) } }
        }
        let kept = Task { [log] in try await pool.run { log.add(9) } }
        tasks[1].cancel()
        kept.cancel()
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        release.signal()
        for task in held + [tasks[0], tasks[2], kept] { try await task.value }
        #expect(Set(log.entries) == [0, 2, 9])
        #expect(pool.name == "test")
    }

    @Test func `an error of work is rethrown, and its thread continues`() async throws {
        struct Failure: Error {}
        let pool = BlockingPool("test", .init(threads: 1))
        for _ in 0..<3 { await #expect(throws: Failure.self) { try await pool.run { throw Failure() } } }
        #expect(try await pool.run { 7 } == 7)
    }

    @Test func `a queue is FIFO, also beyond its first thousand`() throws {
        var queue = Queue<Int>()
        for number in 0..<5000 { queue.append(number) }
        for number in 0..<3000 { #expect(queue.popFirst() == number) }
        #expect(queue.removeFirst { $0 == 4000 } == 4000)
        #expect(queue.removeFirst { $0 == 4000 } == nil)
        #expect(queue.count == 1999)
        queue.append(5000)
        #expect(queue.removeAll().suffix(2) == [4999, 5000])
        #expect(queue.popFirst() == nil && queue.count == 0)
    }
}
