/// A few threads with a read connection each. They start when the ones that run are all busy.
package final class ReadPool: @unchecked Sendable {
    // Sendable because `condition` guards these.
    private let condition = Condition()
    private var waiting = WorkQueue()
    private var threads = 0
    private var idleThreads = 0
    private var isClosing = false
    private var closers: [CheckedContinuation<Void, Never>] = []

    private let limit: Int
    private let open: @Sendable () throws -> any SQLConnection

    /// - Parameters:
    ///   - limit: the largest number of threads.
    ///   - open: opens a connection; called on the thread that uses it.
    package init(limit: Int, open: @escaping @Sendable () throws -> any SQLConnection) {
        self.limit = limit
        self.open = open
    }

    /// Runs `body` over a snapshot.
    package func read<T: Sendable>(_ body: @escaping @Sendable (any StorageReader) throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            enqueue(Request<SQLReader, T>({ try body($0) }, continuation))
        }
    }

    private func enqueue(_ work: any Work<SQLReader>) {
        condition.lock()
        guard !isClosing else {
            condition.unlock()
            work.answer(failure: StorageError.closed)
            return
        }
        waiting.append(work)
        let wakes = idleThreads > 0
        let starts = waiting.count > idleThreads && threads < limit
        if starts { threads += 1 }
        condition.unlock()
        if wakes { condition.signal() }
        if starts { startThread() }
    }

    private func startThread() {
        do {
            try EngineThread.start { [self] in runUntilClosed() }
        } catch {
            // Another thread may do the work. If there is none, nobody will.
            let stranded = condition.withLock {
                threads -= 1
                return threads == 0 ? waiting.removeAll() : []
            }
            for work in stranded { work.answer(failure: error) }
        }
    }

    /// Finishes what was handed in and closes the connections.
    package func close() async {
        await withCheckedContinuation { continuation in
            let isClosed = condition.withLock {
                isClosing = true
                if threads > 0 { closers.append(continuation) }
                return threads == 0
            }
            if isClosed { continuation.resume() }
            condition.broadcast()
        }
    }

    /// Like `close()`, without waiting for it.
    package func shutDown() {
        condition.withLock { isClosing = true }
        condition.broadcast()
    }

    // MARK: The threads

    private func runUntilClosed() {
        var connection: (any SQLConnection)?
        while let work = waitForWork() {
            do {
                let open = try connection ?? self.open()
                connection = open
                run(work, on: open)
            } catch {
                work.answer(failure: error)
            }
        }
        connection?.close()
        let closers = condition.withLock {
            threads -= 1
            return threads == 0 ? self.closers : []
        }
        for closer in closers { closer.resume() }
    }

    private func waitForWork() -> (any Work<SQLReader>)? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let work = waiting.popFirst() { return work }
            if isClosing { return nil }
            idleThreads += 1
            condition.wait()
            idleThreads -= 1
        }
    }

    private func run(_ work: any Work<SQLReader>, on connection: any SQLConnection) {
        let reader = SQLReader(connection)
        var failure: (any Error)?
        do {
            try connection.begin(writing: false)
            failure = work.run(reader)
        } catch {
            failure = error
        }
        reader.invalidate()
        connection.rollback()
        work.answer(failure: failure)
    }
}

/// First in, first out, without moving what waits.
private struct WorkQueue {
    private var works: [(any Work<SQLReader>)?] = []
    private var head = 0

    var count: Int { works.count - head }

    mutating func append(_ work: any Work<SQLReader>) {
        works.append(work)
    }

    mutating func popFirst() -> (any Work<SQLReader>)? {
        guard head < works.count else { return nil }
        defer {
            works[head] = nil
            head += 1
            if head == works.count {
                works.removeAll(keepingCapacity: true)
                head = 0
            } else if head >= 1024 {
                works.removeFirst(head)
                head = 0
            }
        }
        return works[head]
    }

    mutating func removeAll() -> [any Work<SQLReader>] {
        defer { self = WorkQueue() }
        return works.compactMap { $0 }
    }
}
