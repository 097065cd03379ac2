/// One container's store in one environment: typed rows, read and written in transactions.
///
/// A change sequence is unique in the store, and above those of every write that was answered before its own began. Writes
/// that run side by side may commit in any order, so a record's sequence may fall, and a reader may see a larger sequence
/// before a smaller one; up to `completeUpTo` it has seen all. Sequences are compared with that, with where a reader came
/// to and with one that was taken alone (`runAlone`), never those of two rows with each other; change tags, which are made of them, are
/// compared for equality only. The body of a write may run several times before it is committed once.
///
/// An engine is accepted when `NephosStorageTesting` is green on it. It knows no rule of CloudKit's.
package protocol StorageEngine: AnyObject, Sendable {
    /// Runs `body` over a snapshot of what is committed. The reader is valid only inside `body`.
    ///
    /// `body` runs on a thread of the engine's, never on the cooperative pool, so it may block.
    /// - Throws: what `body` throws, or a `StorageError`.
    func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T

    /// The same for what a client asks for, and is expected to take so long. An engine may have long reads wait for each other,
    /// so that short ones need not.
    /// - Throws: `LongRead` also, where the read was not expected to be long, and did more work than a short one may.
    func read<T: Sendable>(
        expecting length: ReadLength, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T

    /// Runs `body` in a transaction and returns once the commit is durable. The transaction is valid only inside `body`.
    ///
    /// Writes that wait together are grouped: one commit makes them all durable. If `body` throws, its own changes alone
    /// are undone; for that, and where another write was in the way, it may run again. An operation that throws fails the write, even if `body` goes on.
    /// - Throws: what `body` throws, or a `StorageError`; then nothing of it is kept.
    func write<T: Sendable>(_ body: @escaping @Sendable (StorageTransaction) throws -> T) async throws -> T

    /// Whether other processes may write the store.
    var isShared: Bool { get }
    /// How far the database's clock is ahead of this machine's, in milliseconds, where it is a second or more; otherwise 0.
    /// Processes that write one store claim work for a time, and have to agree when it is over.
    var clockOffset: Int64 { get }
    /// Wakes the other processes that have the store open, for what was committed before the call. Best effort.
    func signalOthers(_ signals: StoreSignals)
    /// Has the signals of other processes given to `handler`, and all of them now and then, as some may have been lost.
    /// `handler` must not block.
    func onSignals(_ handler: @escaping @Sendable (StoreSignals) -> Void)

    /// Finishes the work that was handed in, then closes. Later calls throw `StorageError` `.closed`.
    func close() async
}

package enum ReadLength: Sendable {
    /// It may turn out to be long: then it ends.
    case short
    case long
    /// Of one zone and one record, which the body names by `expectZone` before it reads anything. The body may run on the
    /// caller's thread, and several times; where it reads more it is a short read.
    case lookup
}

extension StorageEngine {
    package func read<T: Sendable>(
        expecting length: ReadLength, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        try await read(body)
    }
}

extension StorageEngine {
    package var clockOffset: Int64 { 0 }
}
