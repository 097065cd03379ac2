/// One container's store in one environment: typed rows that are read and written in transactions.
///
/// A change sequence is unique in the store. It is above the sequences of all writes that were answered before its own
/// write began. The writes of one owner commit in the order of their sequences. Those of different owners commit in any
/// order, so callers compare sequences of one owner, or with one taken under `runAlone` or from `settledSequence`. The
/// body of a write may run several times before it is committed once.
///
/// An engine is accepted if it passes all checks of `NephosStorageTesting`. It knows none of CloudKit's rules.
package protocol StorageEngine: AnyObject, Sendable {
    /// Runs `body` over a snapshot of committed data. The reader is valid only inside `body`.
    ///
    /// `body` runs on a thread of the engine, never on the cooperative pool, so it may block.
    /// - Throws: any error of `body`, or a `StorageError`.
    func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T

    /// Runs a client's read of the expected length. An engine may queue long reads separately, so that they do not
    /// block short reads.
    /// - Throws: also `LongRead`, if a read that was expected to be short exceeded the limit of a short read.
    func read<T: Sendable>(
        expecting length: ReadLength, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T

    /// Runs `body` in a transaction, and returns once the commit is durable. The transaction is valid only inside
    /// `body`.
    ///
    /// Group commit: one commit makes all pending writes durable. If `body` throws, only its own changes are rolled
    /// back. To roll them back, or after a conflict with another write, the engine may run `body` again. An operation
    /// that throws fails the write, even if `body` continues.
    /// - Parameter owners: the owners whose rows `body` changes, as far as they are known. An engine that several processes
    ///   write excludes their other writes meanwhile, and runs `body` again if it turns out to change another's.
    /// - Throws: any error of `body`, or a `StorageError`; in both cases nothing is stored.
    func write<T: Sendable>(
        of owners: Set<OwnerID>, _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T

    /// Whether other processes may write the store.
    var isShared: Bool { get }
    /// The lead of the database's clock over this machine's clock in milliseconds; 0 if the difference is below one
    /// second. Processes that write one store claim work until a time, so they have to agree on the time.
    var clockOffset: Int64 { get }
    /// Wakes other processes that have the store open, after commits by this process. Best effort.
    func signalOthers(_ signals: StoreSignals)
    /// Passes the signals of other processes to `handler`. Signals may be lost, so `handler` also receives all signals
    /// periodically. It must not block.
    func onSignals(_ handler: @escaping @Sendable (StoreSignals) -> Void)

    /// Finishes the queued work and closes the store. Later calls throw `StorageError` `.closed`.
    func close() async
}

package enum ReadLength: Sendable {
    /// A read that ends with `LongRead` if it exceeds the limit of a short read.
    case short
    /// A short read that ends earlier: what a query scans is known only by scanning, and others wait meanwhile.
    case query
    case long
    /// A short read of one zone and one record. The body names both by `expectZone` before it reads anything. It may
    /// run on the calling thread, and several times. If it reads anything else, it counts as a `short` read.
    case lookup

    /// The maximum work in units; nil for a long read.
    package var work: Int? {
        switch self {
        case .short, .lookup: ReadMeter.shortRead
        case .query: ReadMeter.shortQuery
        case .long: nil
        }
    }
}

extension StorageEngine {
    package func read<T: Sendable>(
        expecting length: ReadLength, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        try await read(body)
    }
}

extension StorageEngine {
    package func write<T: Sendable>(
        _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        try await write(of: [], body)
    }

    package var clockOffset: Int64 { 0 }
}
