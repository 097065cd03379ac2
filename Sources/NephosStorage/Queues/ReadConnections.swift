package import NephosThreads
import Synchronization

/// The read connections of a store. A thread that may block borrows a free one and never waits; all other reads run on
/// `BlockingPool.reads`, which all stores share, and queue here while no connection is free.
///
/// Long reads run on their own few threads, so that any number of them leaves connections, threads and processors for
/// short ones. A short read ends at `ReadMeter.shortRead`, a long one at `Limit.longNanoseconds`. Internal reads (not a
/// client's) restart as long ones at `Limit.ownWork`.
///
/// A returned connection keeps its snapshot until the next write: the next read then need not open one, which costs two
/// system calls and a lock that all connections share. The writer announces its writes.
package final class ReadConnections: Sendable {
    package enum Limit {
        /// Units: about 20 milliseconds.
        package static let ownWork = 25_000
        package static let longNanoseconds: Int64 = 10_000_000_000
    }

    /// A connection, and the zones found in its snapshot, which are valid only as long as the snapshot.
    private struct Reading {
        let connection: any SQLConnection
        var zones: [ZoneRow] = []
    }

    /// A queued read.
    private struct Waiting: @unchecked Sendable {
        // Unchecked: it has one owner at a time: the queue, the thread that took it, the thread that runs it.
        let work: any Work<StorageReader>
        let kind: Kind
    }

    private enum Kind {
        case short, own, long
    }

    private struct State: @unchecked Sendable {
        // Unchecked: a connection belongs to its borrower, which took it under the lock.
        var idle: [Reading] = []
        var borrowed = 0
        /// Reads that wait for a connection: a FIFO queue.
        var waiting = Queue<Waiting>()
        /// The number of reads handed to the threads and not yet answered.
        var handedIn = 0
        /// Odd while a transaction writes. Snapshots of one even number are all of the same state, the newest.
        var era = 0
        var isClosing = false
        var closers: [CheckedContinuation<Void, Never>] = []

        /// The connections to close and the waiters for that, once no reader is left.
        mutating func end() -> (connections: [any SQLConnection], closers: [CheckedContinuation<Void, Never>]) {
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
    private let open: @Sendable () throws -> any SQLConnection

    /// - Parameters:
    ///   - limit: the largest number of connections.
    ///   - threads: run the reads that the caller's thread does not.
    ///   - longThreads: run long reads.
    ///   - short: units of work at which a short read ends.
    ///   - own: units of work at which an internal read restarts as a long one.
    ///   - long: nanoseconds after which a long read fails.
    ///   - open: opens a connection; called on the thread that uses it first.
    package init(
        limit: Int, threads: BlockingPool = .reads, longThreads: BlockingPool = .longReads,
        short: Int = ReadMeter.shortRead, own: Int = Limit.ownWork, long: Int64 = Limit.longNanoseconds,
        open: @escaping @Sendable () throws -> any SQLConnection
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

    /// Runs `body` over a snapshot: on the calling thread if that may block and a connection is free. It may run twice.
    /// - Parameter length: nil for an internal read.
    /// - Throws: any error of `body`, `LongRead`, or a `StorageError`.
    package func read<T: Sendable>(
        expecting length: ReadLength? = nil, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        let kind: Kind = length.map { $0 == .long ? .long : .short } ?? .own
        if kind != .long, BlockingThread.isCurrent {
            do {
                if let result = try readHere(body) { return result }
            } catch let error as LongRead {
                if kind == .short { throw error }
            }
        }
        return try await withUnsafeThrowingContinuation { continuation in
            handIn(Waiting(work: Request<StorageReader, T>({ try body($0) }, continuation), kind: kind))
        }
    }

    /// Runs `body` over a snapshot on the calling thread; nil if no connection is free.
    package func readHere<T>(_ body: (StorageReader) throws -> T) throws -> T? {
        guard let (reading, era) = try borrow() else { return nil }
        return try run({ try body($0) }, over: reading, era, within: .work(short), for: .current)
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
        // Whatever its outcome, the body saw only part of its data.
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
            // The connection is returned before the answer, so that nothing is left to do after it.
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
        case .short: .work(short)
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

    /// - Parameter work: a handed-in read, which waits if no connection is free; without it nothing can be borrowed
    ///   once the store closes.
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

    /// Takes back a connection with its snapshot, if nothing has been written since `era`.
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

    private func giveBack(_ connection: (any SQLConnection)?) {
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

    /// A transaction is about to write: no snapshot is kept until `didWrite()`. One older than the transaction would
    /// not show its writes, and would block the checkpoint of the log.
    func willWrite() {
        state.withLock { state in
            state.era += 1
            for reading in state.idle { reading.connection.rollback() }
        }
    }

    /// The transaction is over. Called before the commit is announced to anyone.
    func didWrite() {
        state.withLock { $0.era += 1 }
    }

    /// After a checkpoint: ends older snapshots, which would go on reading the log.
    package func renew() {
        state.withLock { state in
            state.era += 2
            for reading in state.idle { reading.connection.rollback() }
        }
    }

    // MARK: The end

    /// Finishes the queued reads and closes the connections, once all borrowed ones are back. Later reads throw.
    package func close() async {
        await withCheckedContinuation { continuation in shutDown(continuation) }
    }

    /// Like `close()`, without waiting for it.
    package func shutDown() { shutDown(nil) }

    private func shutDown(_ closer: CheckedContinuation<Void, Never>?) {
        // The closer is added together with the mark that makes the last reader look for it; otherwise that reader
        // could end between the two.
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
