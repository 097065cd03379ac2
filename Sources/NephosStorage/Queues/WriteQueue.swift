import NephosThreads
import Synchronization

/// Group commit: one thread runs all pending writes in one transaction, commits once, and only then answers the writes.
///
/// If a write fails, only its own changes are rolled back. That needs savepoints, which cost every write a copy of each
/// page it touches, and a failed write has seldom changed anything. So a group first runs without savepoints. It runs
/// again with them only if a write fails after a change.
///
/// Owners take turns: no owner's second waiting write runs before another's first, so an owner with many long writes
/// delays others by one of them.
package final class WriteQueue: @unchecked Sendable {
    /// The bounds of a group, which limit how long its first write waits.
    enum Limit {
        static let works = 256
        /// The maximum duration of a group in nanoseconds, after which no further write joins it.
        static let nanoseconds: Int64 = 20_000_000
        /// The maximum time in nanoseconds that a new group waits for the writers of the previous group to return.
        static let gatheringNanoseconds: Int64 = 500_000
        /// The minimum wait in nanoseconds that is worth the system call.
        static let leastGatheringNanoseconds: Int64 = 10_000
        /// The idle time in nanoseconds after which the thread ends; the next work starts another thread. While more
        /// than `restingThreads` threads of all stores are idle, `crowdedRestNanoseconds` applies instead.
        static let restNanoseconds: Int64 = 10_000_000_000
        static let restingThreads = 16
        static let crowdedRestNanoseconds: Int64 = 20_000_000
    }

    // Sendable because `lock` guards the following properties…
    private let lock = Lock()
    private let condition: Condition
    private var waitingWrites: [any Work<StorageTransaction>] = []
    private struct WaitingRead {
        let work: any Work<StorageReader>
        /// The maximum work of a short read; nil for another.
        let short: Int?
    }

    private var waitingReads: [WaitingRead] = []
    /// The number of queued items that wakes the thread; nil while the thread is awake.
    private var wakesAt: Int?
    private var hasThread = false
    private var isClosing = false
    private var hasClosed = false
    private var closers: [CheckedContinuation<Void, Never>] = []

    /// The number of idle queue threads in the process.
    private static let resting = Atomic(0)

    // …and only the queue's thread uses the following properties. The queue has one thread at a time.
    private let connection: any QueuedConnection
    private let readers: ReadConnections?
    private let readLimit: Int64
    private let sequence: SequenceCounter
    private var storedSequence: Int64
    private var group: ArraySlice<any Work<StorageTransaction>> = []
    /// The owner whose write ran last; nil for work without an owner.
    private var lastOwner: OwnerID?
    /// The zones that the group changed, each with its last change sequence.
    private var changedZones: [ZoneKey: Int64] = [:]
    private var lastGroup = (size: 1, commitNanoseconds: Int64(0))

    /// Creates a queue whose thread owns the connection from now on. The first work starts that thread.
    /// - Parameters:
    ///   - readers: the read connections of the same store, which are notified when their snapshots become stale.
    ///   - readLimit: the maximum duration in nanoseconds of a read on the writer's connection, after which it fails.
    package init(
        connection: any QueuedConnection, readers: ReadConnections? = nil,
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

    /// Runs `body` in a transaction, and returns when the transaction is durable.
    /// - Parameter owner: the owner of the database that `body` writes; nil if it writes several.
    package func write<T: Sendable>(
        of owner: OwnerID? = nil, _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        try await withUnsafeThrowingContinuation { continuation in
            add(write: Request<StorageTransaction, T>(owner: owner, { try body($0) }, continuation))
        }
    }

    /// Runs `body` on the writer's connection between two groups, for engines that have only one connection.
    /// - Parameter length: the expected length of a client's read; nil for an internal read.
    /// - Throws: any error of `body`, `LongRead`, or a `StorageError`.
    package func read<T: Sendable>(
        expecting length: ReadLength? = nil, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        try await withUnsafeThrowingContinuation { continuation in
            add(read: Request<StorageReader, T>({ try body($0) }, continuation), short: length?.work)
        }
    }

    func add(write work: any Work<StorageTransaction>) {
        enqueue(work) { waitingWrites.append(work) }
    }

    func add(read work: any Work<StorageReader>, short: Int? = nil) {
        enqueue(work) { waitingReads.append(WaitingRead(work: work, short: short)) }
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

    /// Fails all queued work, because the system cannot create a thread, or because the queue is closing and no further
    /// work can arrive.
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

    /// Starts `close()` without waiting for its end.
    package func shutDown() {
        let starts = lock.withLock {
            isClosing = true
            defer { hasThread = true }
            return !hasThread && !hasClosed
        }
        if starts { startThread() } else { condition.signal() }
    }

    /// Whether the connection is closed.
    package var isClosed: Bool { lock.withLock { hasClosed } }

    // MARK: The thread

    private enum Next {
        /// The writes in `group`, and the associated reads, are ready to run.
        case work([WaitingRead])
        /// The idle time is over.
        case rest
        /// The queue is closed and empty.
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

    /// Waits for work. Moves the pending writes to `group`, and returns the pending reads.
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

    /// Waits briefly for the writers of the last commit to return with their next write. Without the wait, the first of
    /// them gets a commit of its own, and the others wait for two commits.
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
        if group.count > 1 { takeTurns() }
    }

    /// Sorts the group by the number of writes of the same owner that precede each write.
    private func takeTurns() {
        var turns = [lastOwner: 1]
        var isSorted = true
        var last = 0
        let writes = group.map { work in
            let turn = turns[work.owner, default: 0]
            turns[work.owner] = turn + 1
            if turn < last { isSorted = false }
            last = turn
            return (turn: turn, work: work)
        }
        if isSorted { return }
        group = ArraySlice(writes.sorted { $0.turn < $1.turn }.map(\.work))
    }

    private func run(_ read: WaitingRead) {
        let work = read.work
        let reader = StorageReader(connection)
        work.times?.enter(.storage)
        connection.meter.begin(read.short.map { .work($0) } ?? .time(.now + readLimit))
        let failure = work.run(reader)
        let (units, isExceeded) = connection.meter.end()
        work.times?.noteRead(work: units)
        reader.invalidate()
        guard isExceeded else { return work.answer(failure: failure) }
        work.answer(failure: read.short == nil ? StorageError.tooLong(readLimit) : LongRead())
    }

    /// A write of the group and its failure, if any.
    private typealias Ran = (work: any Work<StorageTransaction>, failure: (any Error)?)

    /// Runs the writes from `group` in one transaction, commits it, and answers them.
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
            // The transaction is lost, together with all writes that ran in it. The remaining writes run in the next
            // transaction.
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

    /// Runs writes, including writes that arrive meanwhile. Returns false if one of several writes failed and has to be
    /// rolled back, or if it ended the transaction.
    /// - Throws: an error if the transaction of a single write is lost.
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

    /// Runs the writes again, each in a savepoint.
    /// - Throws: an error if the whole transaction is lost.
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

    /// Runs one write. Returns its failure, if any, and whether the write may have changed rows that have to be rolled
    /// back.
    private func run(_ work: any Work<StorageTransaction>) -> (failure: (any Error)?, hasWritten: Bool) {
        let transaction = StorageTransaction(connection, sequence: sequence)
        lastOwner = work.owner
        work.times?.enter(.storage)
        // A failed operation fails the write, even if the body continues.
        let failure = work.run(transaction) ?? transaction.failure
        // Some databases accept no statement after a failed one, so the failure requires a rollback too.
        let hasWritten = transaction.hasWritten || transaction.failure != nil
        transaction.invalidate()
        work.times?.enter(.queue)
        if failure == nil {
            for (zone, sequence) in transaction.changedZones { changedZones[zone] = sequence }
        }
        return (failure, hasWritten)
    }

    /// Checks that the transaction is still open.
    /// - Throws: an error if the transaction is lost, which a failed write can cause.
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
