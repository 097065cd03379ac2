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
    /// Runs `body` over a snapshot of committed data. The reader is valid only inside `body`.
    ///
    /// `body` runs on a thread of the engine, never on the cooperative pool, so it may block.
    /// - Throws: any error of `body`, or a `StorageError`.
    func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T

    /// Runs a client's read of the expected length. An engine may queue long reads separately, so that they do not
    /// block short ones.
    /// - Throws: also `LongRead`, if a read that was not expected to be long exceeded the limit of a short one.
    func read<T: Sendable>(
        expecting length: ReadLength, _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T

    /// Runs `body` in a transaction and returns once the commit is durable. The transaction is valid only inside
    /// `body`.
    ///
    /// Group commit: one commit makes all pending writes durable. If `body` throws, only its own changes are rolled
    /// back; for that, and after a conflict with another write, it may run again. An operation that throws fails the
    /// write, even if `body` continues.
    /// - Throws: any error of `body`, or a `StorageError`; then nothing is stored.
    func write<T: Sendable>(_ body: @escaping @Sendable (StorageTransaction) throws -> T) async throws -> T

    /// Whether other processes may write the store.
    var isShared: Bool { get }
    /// The database clock's lead over this machine's in milliseconds, if it is a second or more; otherwise 0. Processes
    /// that write one store claim work for a time, and have to agree on its end.
    var clockOffset: Int64 { get }
    /// Wakes the other processes that have the store open, for earlier commits. Best effort.
    func signalOthers(_ signals: StoreSignals)
    /// Passes other processes' signals to `handler`, and periodically all signals, as some may be lost. `handler` must
    /// not block.
    func onSignals(_ handler: @escaping @Sendable (StoreSignals) -> Void)

    /// Finishes the queued work, then closes. Later calls throw `StorageError` `.closed`.
    func close() async
}

package enum ReadLength: Sendable {
    /// A read that ends if it exceeds the limit of a short one.
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
