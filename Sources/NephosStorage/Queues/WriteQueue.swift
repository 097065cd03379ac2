import NephosThreads
import Synchronization

/// Group commit: one thread runs all pending writes in one transaction, commits once, and only then answers them.
///
/// A failed write alone is rolled back. That needs savepoints, which cost every write a copy of each page it touches;
/// and a failed write has seldom changed anything. So the group first runs without them, and again with them if a write
/// failed after it had changed something.
package final class WriteQueue: @unchecked Sendable {
    /// The bounds of a group, so that its first write need not wait for ever.
    enum Limit {
        static let works = 256
        /// Nanoseconds after which no further write joins the group.
        static let nanoseconds: Int64 = 20_000_000
        /// The longest wait for the last group's writers to return.
        static let gatheringNanoseconds: Int64 = 500_000
        /// The shortest wait that is worth the system call.
        static let leastGatheringNanoseconds: Int64 = 10_000
        /// Idle time after which the thread ends; the next work starts another. While more than `restingThreads`
        /// threads of all stores idle, `crowdedRestNanoseconds` applies.
        static let restNanoseconds: Int64 = 10_000_000_000
        static let restingThreads = 16
        static let crowdedRestNanoseconds: Int64 = 20_000_000
    }

    // Sendable because `lock` guards these…
    private let lock = Lock()
    private let condition: Condition
    private var waitingWrites: [any Work<StorageTransaction>] = []
    private struct WaitingRead {
        let work: any Work<StorageReader>
        /// Whether it ends at `ReadMeter.shortRead`.
        let isShort: Bool
    }

    private var waitingReads: [WaitingRead] = []
    /// The number of queued works that wakes the thread; nil while it is awake.
    private var wakesAt: Int?
    private var hasThread = false
    private var isClosing = false
    private var hasClosed = false
    private var closers: [CheckedContinuation<Void, Never>] = []

    /// The number of idle queue threads in the process.
    private static let resting = Atomic(0)

    // …and the following belong to the queue's thread alone, of which there is one at a time.
    private let connection: any SQLConnection
    private let readers: ReadConnections?
    private let readLimit: Int64
    private let sequence: SequenceCounter
    private var storedSequence: Int64
    private var group: ArraySlice<any Work<StorageTransaction>> = []
    /// The zones that the group changed, with their last sequences.
    private var changedZones: [ZoneKey: Int64] = [:]
    private var lastGroup = (size: 1, commitNanoseconds: Int64(0))

    /// The thread owns the connection from now on; the first work starts it.
    /// - Parameters:
    ///   - readers: the holders of snapshots of the same store, notified when one becomes stale.
    ///   - readLimit: nanoseconds after which a read on the writer's connection fails.
    package init(
        connection: any SQLConnection, readers: ReadConnections? = nil,
        readLimit: Int64 = ReadConnections.Limit.longNanoseconds
    ) throws {
        self.readLimit = readLimit
        self.connection = connection
        self.readers = readers
        condition = Condition(lock)
        let statement = try connection.prepare(.lastSequence)
        guard try statement.step() else { throw StorageError(.damaged, "the change sequence is missing") }
        sequence = SequenceCounter(last: statement.integer(0))
        storedSequence = sequence.last
        statement.reset()
    }

    // MARK: Callers

    /// Runs `body` in a transaction; returns when it is durable.
    package func write<T: Sendable>(
        _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        try await withUnsafeThrowingContinuation { continuation in
            add(write: Request<StorageTransaction, T>({ try body($0) }, continuation))
        }
    }

    /// Runs `body` between two groups, on the writer's connection: for engines that have only one.
    /// - Parameter length: nil for an internal read.
    /// - Throws: any error of `body`, `LongRead`, or a `StorageError`.
    package func read<T: Sendable>(
        expecting length: ReadLength? = nil, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        try await withUnsafeThrowingContinuation { continuation in
            let isShort = length == .short || length == .lookup
            add(read: Request<StorageReader, T>({ try body($0) }, continuation), isShort: isShort)
        }
    }

    func add(write work: any Work<StorageTransaction>) {
        enqueue(work) { waitingWrites.append(work) }
    }

    func add(read work: any Work<StorageReader>, isShort: Bool = false) {
        enqueue(work) { waitingReads.append(WaitingRead(work: work, isShort: isShort)) }
    }

    private func enqueue(_ work: any Work, _ append: () -> Void) {
        lock.lock()
        guard !isClosing else {
            lock.unlock()
            work.answer(failure: StorageError.closed)
            return
        }
        append()
        var wakes = false
        let starts = !hasThread
        hasThread = true
        if let wakesAt, waitingWrites.count + waitingReads.count >= wakesAt {
            self.wakesAt = nil
            wakes = true
        }
        lock.unlock()
        if starts { startThread() } else if wakes { condition.signal() }
    }

    private func startThread() {
        do {
            try NativeThread.start("writer") { [self] in runUntilRest() }
        } catch {
            failWaiting(error)
        }
    }

    /// Fails all queued work: no thread can be created, or the queue is closing and nothing else will arrive.
    private func failWaiting(_ error: any Error) {
        let (writes, reads, isClosing) = lock.withLock {
            defer { (waitingWrites, waitingReads, hasThread) = ([], [], false) }
            return (waitingWrites, waitingReads, self.isClosing)
        }
        for work in writes { work.answer(failure: error) }
        for read in reads { read.work.answer(failure: error) }
        if isClosing { end() }
    }

    /// Finishes the queued work and closes the connection.
    package func close() async {
        await withCheckedContinuation { continuation in
            let isClosed = lock.withLock {
                if !hasClosed { closers.append(continuation) }
                return hasClosed
            }
            if isClosed { continuation.resume() }
            shutDown()
        }
    }

    /// Like `close()`, without waiting for it.
    package func shutDown() {
        let starts = lock.withLock {
            isClosing = true
            defer { hasThread = true }
            return !hasThread && !hasClosed
        }
        if starts { startThread() } else { condition.signal() }
    }

    /// Whether the connection was closed.
    package var isClosed: Bool { lock.withLock { hasClosed } }

    // MARK: The thread

    private enum Next {
        /// The writes in `group`, and these reads.
        case work([WaitingRead])
        /// The idle time is over.
        case rest
        /// The queue was closed and is empty.
        case end
    }

    private func runUntilRest() {
        while true {
            switch waitForWork() {
            case .work(let reads):
                for read in reads { run(read) }
                if !group.isEmpty { runGroup() }
            case .rest: return
            case .end: return end()
            }
        }
    }

    private func end() {
        connection.close()
        let closers = lock.withLock {
            hasClosed = true
            return self.closers
        }
        for closer in closers { closer.resume() }
    }

    /// Fills `group` with the pending writes, and returns the reads.
    private func waitForWork() -> Next {
        lock.lock()
        defer { lock.unlock() }
        while group.isEmpty && waitingWrites.isEmpty && waitingReads.isEmpty {
            if isClosing { return .end }
            wakesAt = 1
            let isCrowded = Self.resting.add(1, ordering: .relaxed).newValue > Limit.restingThreads
            let isWoken = condition.wait(
                until: .now + (isCrowded ? Limit.crowdedRestNanoseconds : Limit.restNanoseconds))
            Self.resting.subtract(1, ordering: .relaxed)
            if !isWoken && waitingWrites.isEmpty && waitingReads.isEmpty && !isClosing {
                (wakesAt, hasThread) = (nil, false)
                return .rest
            }
        }
        wakesAt = nil
        if group.isEmpty { gather() }
        takeWaitingWrites()
        defer { waitingReads.removeAll(keepingCapacity: true) }
        return .work(waitingReads)
    }

    /// Waits briefly for the writers of the last commit to return with their next write: otherwise the first of them
    /// gets a commit for itself, and the others wait for two.
    private func gather() {
        let expected = lastGroup.size
        guard expected > 1 else { return }
        let nanoseconds = min(lastGroup.commitNanoseconds / 4, Limit.gatheringNanoseconds)
        guard nanoseconds >= Limit.leastGatheringNanoseconds else { return }
        let deadline = MonotonicTime.now + nanoseconds
        while waitingWrites.count < expected && waitingReads.isEmpty && !isClosing {
            wakesAt = expected
            guard condition.wait(until: deadline) else { break }
        }
        wakesAt = nil
    }

    private func takeWaitingWrites() {
        guard !waitingWrites.isEmpty else { return }
        group.append(contentsOf: waitingWrites)
        waitingWrites.removeAll(keepingCapacity: true)
    }

    private func run(_ read: WaitingRead) {
        let work = read.work
        let reader = StorageReader(connection)
        work.times?.enter(.storage)
        connection.meter.begin(read.isShort ? .work(ReadMeter.shortRead) : .time(.now + readLimit))
        let failure = work.run(reader)
        let (units, isExceeded) = connection.meter.end()
        work.times?.noteRead(work: units)
        reader.invalidate()
        guard isExceeded else { return work.answer(failure: failure) }
        work.answer(failure: read.isShort ? LongRead() : StorageError.tooLong(readLimit))
    }

    /// A write of the group and its failure, if any.
    private typealias Ran = (work: any Work<StorageTransaction>, failure: (any Error)?)

    /// Runs writes from `group` in one transaction, commits and answers them.
    private func runGroup() {
        var ran: [Ran] = []
        readers?.willWrite()
        do {
            try connection.begin(writing: true)
            if try !runTogether(&ran) {
                connection.rollback()
                try connection.begin(writing: true)
                try runApart(&ran)
            }
            for (work, _) in ran { work.times?.enter(.commit) }
            let checkpointed = connection.checkpointNanoseconds
            try commit(keepsAnything: ran.contains { $0.failure == nil })
            noteCheckpoint(connection.checkpointNanoseconds - checkpointed, ran)
        } catch {
            // The transaction is lost with all writes that ran in it. The remaining ones run in the next.
            connection.rollback()
            if ran.isEmpty {
                ran = group.map { ($0, nil) }
                group = []
            }
            for index in ran.indices where ran[index].failure == nil { ran[index].failure = error }
        }
        readers?.didWrite()
        lastGroup.size = ran.count
        for (work, failure) in ran { work.answer(failure: failure) }
    }

    /// Attributes the commit's checkpoint time to all writes that it answers.
    private func noteCheckpoint(_ nanoseconds: Int64, _ ran: [Ran]) {
        guard nanoseconds > 0 else { return }
        for case (let work, _) in ran {
            work.times?.enter(.service)
            work.times?.move(nanoseconds, from: .commit, to: .checkpoint)
        }
    }

    /// Runs writes, including those that arrive meanwhile; returns false if one of several failed and has to be rolled
    /// back, or ended the transaction.
    /// - Throws: if the transaction of a single write is lost.
    private func runTogether(_ ran: inout [Ran]) throws -> Bool {
        changedZones = [:]
        let isAlone = group.count == 1
        let deadline = MonotonicTime.now + Limit.nanoseconds
        repeat {
            let work = group.removeFirst()
            ran.append((work, nil))
            let (failure, hasWritten) = run(work)
            ran[ran.endIndex - 1].failure = failure
            if isAlone {
                try requireTransaction(failure)
                break
            }
            if failure != nil && hasWritten || !connection.isInTransaction { return false }
            if group.isEmpty { lock.withLock { takeWaitingWrites() } }
        } while !group.isEmpty && ran.count < Limit.works && MonotonicTime.now < deadline
        return true
    }

    /// Runs writes again, each in a savepoint.
    /// - Throws: if the whole transaction is lost.
    private func runApart(_ ran: inout [Ran]) throws {
        changedZones = [:]
        for index in ran.indices {
            ran[index].failure = nil
            try step(.savepoint)
            let (failure, hasWritten) = run(ran[index].work)
            try requireTransaction(failure)
            ran[index].failure = failure
            if failure != nil && hasWritten { try step(.rollbackToSavepoint) }
            try step(.releaseSavepoint)
        }
    }

    /// Runs one write; returns its failure, if any, and whether there may be changes to roll back.
    private func run(_ work: any Work<StorageTransaction>) -> (failure: (any Error)?, hasWritten: Bool) {
        let transaction = StorageTransaction(connection, sequence: sequence)
        work.times?.enter(.storage)
        // A failed operation fails the write, even if the body continued.
        let failure = work.run(transaction) ?? transaction.failure
        // Some databases accept no statement after a failed one.
        let hasWritten = transaction.hasWritten || transaction.failure != nil
        transaction.invalidate()
        work.times?.enter(.queue)
        if failure == nil {
            for (zone, sequence) in transaction.changedZones { changedZones[zone] = sequence }
        }
        return (failure, hasWritten)
    }

    /// - Throws: if the transaction is lost, which a failed write can cause.
    private func requireTransaction(_ failure: (any Error)?) throws {
        if connection.isInTransaction { return }
        throw failure as? StorageError ?? StorageError(.other, "the transaction was lost")
    }

    private func commit(keepsAnything: Bool) throws {
        guard keepsAnything else {
            connection.rollback()
            return
        }
        let start = MonotonicTime.now
        if sequence.last != storedSequence {
            try step(.setLastSequence) { _ = try $0.bind(sequence.last) }
        }
        for (zone, sequence) in changedZones {
            try step(.noteChange) { _ = try $0.bind(sequence).bind(zone) }
        }
        try connection.commit()
        storedSequence = sequence.last
        lastGroup.commitNanoseconds = MonotonicTime.now.nanoseconds - start.nanoseconds
    }

    private func step(_ sql: SQL, _ bind: (any SQLStatement) throws -> Void = { _ in }) throws {
        let statement = try connection.prepare(sql)
        defer { statement.reset() }
        try bind(statement)
        _ = try statement.step()
    }
}
