package import NephosThreads
import Synchronization

/// The read connections of a store. A thread that may block borrows an idle connection and never waits. All other reads
/// run on `BlockingPool.reads`, which all stores share, and queue here while no connection is idle.
///
/// Long reads run on a few threads of their own, so that any number of them leaves connections, threads and processors
/// to short reads. A short read ends at `ReadMeter.shortRead`, and a long read at `Limit.longNanoseconds`. An internal
/// read, which no client waits for, restarts as a long read at `Limit.ownWork`.
///
/// A returned connection keeps its snapshot until the next write. So the next read need not open a snapshot, which
/// costs two system calls and a lock that all connections share. The writer announces its writes.
package final class ReadConnections: Sendable {
    package enum Limit {
        /// The maximum work of an internal read in units, before it restarts as a long read: about 20 milliseconds.
        package static let ownWork = 25_000
        package static let longNanoseconds: Int64 = 10_000_000_000
    }

    /// A connection, and the zones found in its snapshot. The zones are valid only as long as the snapshot.
    private struct Reading {
        let connection: any QueuedConnection
        var zones: [ZoneRow] = []
    }

    /// A read that waits for a connection.
    private struct Waiting: @unchecked Sendable {
        // Unchecked: the work has one owner at a time: the queue, the thread that took it, or the thread that runs it.
        let work: any Work<StorageReader>
        let kind: Kind
    }

    private enum Kind: Equatable {
        /// A client's read, with the maximum work.
        case short(Int)
        case own, long
    }

    private struct State: @unchecked Sendable {
        // Unchecked: a connection belongs to its borrower, which took it under the lock.
        var idle: [Reading] = []
        var borrowed = 0
        /// The FIFO queue of reads that wait for a connection.
        var waiting = Queue<Waiting>()
        /// The number of reads that were handed to the threads and are not answered yet.
        var handedIn = 0
        /// The version of the snapshots, odd while a transaction writes. All snapshots of one even version show the
        /// same, newest state.
        var era = 0
        var isClosing = false
        var closers: [CheckedContinuation<Void, Never>] = []

        /// The connections to close and the callers that wait for the close; both are empty until no read is in
        /// progress.
        mutating func end() -> (connections: [any QueuedConnection], closers: [CheckedContinuation<Void, Never>]) {
            guard isClosing, borrowed == 0, handedIn == 0 else { return ([], []) }
            defer { (idle, closers) = ([], []) }
            return (idle.map(\.connection), closers)
        }
    }

    private let state = Mutex(State())
    private let limit: Int
    private let threads: BlockingPool
    private let longThreads: BlockingPool
    private let short: Int
    private let own: Int
    private let long: Int64
    private let open: @Sendable () throws -> any QueuedConnection

    /// - Parameters:
    ///   - limit: the maximum number of connections of the store.
    ///   - threads: the threads that run short reads if the calling thread does not.
    ///   - longThreads: the threads that run long reads.
    ///   - short: the maximum work of a short read in units.
    ///   - own: the maximum work of an internal read in units, before it restarts as a long read.
    ///   - long: the maximum duration of a long read in nanoseconds, after which it fails.
    ///   - open: opens a connection; it is called on the thread that first uses the connection.
    package init(
        limit: Int, threads: BlockingPool = .reads, longThreads: BlockingPool = .longReads,
        short: Int = ReadMeter.shortRead, own: Int = Limit.ownWork, long: Int64 = Limit.longNanoseconds,
        open: @escaping @Sendable () throws -> any QueuedConnection
    ) {
        self.longThreads = longThreads
        self.short = short
        self.own = own
        self.long = long
        self.limit = max(1, limit)
        self.threads = threads
        self.open = open
    }

    // MARK: Readers

    /// Runs `body` over a snapshot. `body` runs on the calling thread if that thread may block and a connection is
    /// idle. It may run twice.
    /// - Parameter length: the expected length of a client's read; nil for an internal read.
    /// - Throws: any error of `body`, `LongRead`, or a `StorageError`.
    package func read<T: Sendable>(
        expecting length: ReadLength? = nil, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        let work = length.map(\.work) ?? short
        if let work, BlockingThread.isCurrent {
            do {
                if let result = try readHere(within: work, body) { return result }
            } catch let error as LongRead {
                if length != nil { throw error }
            }
        }
        let kind: Kind = length.map { $0.work.map { .short($0) } ?? .long } ?? .own
        return try await withUnsafeThrowingContinuation { continuation in
            handIn(Waiting(work: Request<StorageReader, T>({ try body($0) }, continuation), kind: kind))
        }
    }

    /// Runs `body` over a snapshot on the calling thread; nil if no connection is idle.
    /// - Parameter work: the maximum work in units; nil for that of a short read.
    package func readHere<T>(within work: Int? = nil, _ body: (StorageReader) throws -> T) throws -> T? {
        guard let (reading, era) = try borrow() else { return nil }
        return try run({ try body($0) }, over: reading, era, within: .work(min(work ?? short, short)), for: .current)
    }

    private func run<T>(
        _ body: (StorageReader) throws -> T, over borrowed: Reading, _ era: Int, within limit: ReadMeter.Limit,
        for times: RequestTimes?
    ) throws -> T {
        var reading = borrowed
        let connection = reading.connection
        times?.enter(.storage)
        connection.meter.begin(limit)
        let outcome = Result {
            if !connection.isInTransaction {
                try connection.begin(writing: false)
                reading.zones = []
            }
            let reader = StorageReader(connection, foundZones: reading.zones)
            defer { reader.invalidate() }
            let result = try body(reader)
            reading.zones = reader.foundZones ?? []
            return result
        }
        let (work, isExceeded) = connection.meter.end()
        times?.noteRead(work: work)
        times?.enter(.service)
        if isExceeded || !outcome.isSuccess || !giveBackWithSnapshot(reading, of: era) { giveBack(connection) }
        // Whatever its outcome, the body read only part of its data.
        if isExceeded { throw LongRead() }
        return try outcome.get()
    }

    private func handIn(_ waiting: Waiting) {
        let isClosing = state.withLock { state in
            if !state.isClosing { state.handedIn += 1 }
            return state.isClosing
        }
        if isClosing { return waiting.work.answer(failure: StorageError.closed) }
        runOnThread(waiting)
    }

    private func runOnThread(_ waiting: Waiting) {
        (waiting.kind == .long ? longThreads : threads).start {
            self.run(waiting)
        } orFail: { error in
            self.finish(waiting.work, failure: error)
        }
    }

    /// Runs a read on one of the threads, or queues it for the next returned connection.
    private func run(_ waiting: Waiting) {
        let work = waiting.work
        do {
            guard let (reading, era) = try borrow(for: waiting) else { return }
            // The connection is returned before the answer is given, so that no work is left after the answer.
            try run(
                { reader in if let failure = work.run(reader) { throw failure } }, over: reading, era,
                within: limit(of: waiting.kind), for: work.times)
            finish(work, failure: nil)
        } catch let error as LongRead {
            switch waiting.kind {
            case .short: finish(work, failure: error)
            case .own: runOnThread(Waiting(work: work, kind: .long))
            case .long: finish(work, failure: StorageError.tooLong(long))
            }
        } catch {
            finish(work, failure: error)
        }
    }

    private func limit(of kind: Kind) -> ReadMeter.Limit {
        switch kind {
        case .short(let work): .work(min(work, short))
        case .own: .work(own)
        case .long: .time(.now + long)
        }
    }

    private func finish(_ work: any Work<StorageReader>, failure: (any Error)?) {
        let (connections, closers) = state.withLock { state in
            state.handedIn -= 1
            return state.end()
        }
        for connection in connections { connection.close() }
        work.answer(failure: failure)
        for closer in closers { closer.resume() }
    }

    // MARK: Connections

    /// - Parameter work: a queued read, which waits if no connection is idle. Without it, the call fails once the store
    ///   is closing.
    private func borrow(for work: Waiting? = nil) throws -> (Reading, era: Int)? {
        enum Found {
            case reading(Reading)
            case room, nothing
        }
        let (found, era) = try state.withLock { state -> (Found, Int) in
            if state.isClosing && work == nil { throw StorageError.closed }
            if let reading = state.idle.popLast() {
                state.borrowed += 1
                return (.reading(reading), state.era)
            }
            guard state.borrowed < limit else {
                if let work { state.waiting.append(work) }
                return (.nothing, state.era)
            }
            state.borrowed += 1
            return (.room, state.era)
        }
        switch found {
        case .reading(let reading): return (reading, era)
        case .nothing: return nil
        case .room:
            do {
                return (Reading(connection: try open()), era)
            } catch {
                giveBack(nil)
                throw error
            }
        }
    }

    /// Returns a connection to the pool with its snapshot, unless a transaction has written since `era`.
    private func giveBackWithSnapshot(_ reading: Reading, of era: Int) -> Bool {
        let (isTaken, next) = state.withLock { state -> (Bool, Waiting?) in
            guard state.era == era, era.isMultiple(of: 2), !state.isClosing else { return (false, nil) }
            state.borrowed -= 1
            state.idle.append(reading)
            return (true, state.waiting.popFirst())
        }
        if let next { runOnThread(next) }
        return isTaken
    }

    private func giveBack(_ connection: (any QueuedConnection)?) {
        connection?.rollback()
        let (next, end) = state.withLock { state in
            state.borrowed -= 1
            if let connection { state.idle.append(Reading(connection: connection)) }
            return (state.waiting.popFirst(), state.end())
        }
        if let next { runOnThread(next) }
        for connection in end.connections { connection.close() }
        for closer in end.closers { closer.resume() }
    }

    // MARK: The writer

    /// Discards all snapshots until `didWrite()`, because a transaction is about to write. An older snapshot would not
    /// show the transaction's writes, and would block the checkpoint of the write-ahead log.
    func willWrite() {
        state.withLock { state in
            state.era += 1
            for reading in state.idle { reading.connection.rollback() }
        }
    }

    /// Ends the writing transaction. The writer calls this before it answers any write of the transaction.
    func didWrite() {
        state.withLock { $0.era += 1 }
    }

    /// Ends all older snapshots after a checkpoint, because their readers would continue to read the write-ahead log.
    package func renew() {
        state.withLock { state in
            state.era += 2
            for reading in state.idle { reading.connection.rollback() }
        }
    }

    // MARK: Closing

    /// Finishes the queued reads, waits for all borrowed connections, and closes all connections. Later reads throw.
    package func close() async {
        await withCheckedContinuation { continuation in shutDown(continuation) }
    }

    /// Starts `close()` without waiting for its end.
    package func shutDown() { shutDown(nil) }

    private func shutDown(_ closer: CheckedContinuation<Void, Never>?) {
        // One critical section adds the closer and sets the mark that makes the last reader look for closers. Otherwise
        // that reader could finish between the two steps.
        let (connections, closers) = state.withLock { state in
            state.isClosing = true
            if let closer { state.closers.append(closer) }
            return state.end()
        }
        for connection in connections { connection.close() }
        for closer in closers { closer.resume() }
    }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}
