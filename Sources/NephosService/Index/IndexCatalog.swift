import NephosStorage
import Synchronization

/// The store's indexes, kept in memory. A save must never miss one that is in the store, and pays nothing to make sure.
///
/// Whoever changes the definitions calls `beginChange` before handing in the write, and `endChange` after its answer.
/// Between the two nothing is kept, and a save reads the definitions in its own transaction, where it sees those of the
/// writes before it, committed or not. A save that finds nothing changing may use what is kept: a change that begins only
/// now has its write behind the save's, so the building of the index finds the saved record. What a save reads while
/// nothing changes is committed, as a write is answered after its commit; so that is what is kept.
///
/// This takes one process that writes the store. Where there are several, the definitions need a version in the store
/// that each transaction reads.
final class IndexCatalog: Sendable {
    /// A moment in the life of the definitions.
    struct Moment: Equatable, Sendable {
        fileprivate var changes: Int
    }

    private struct State {
        var changing = 0
        /// How many changes began or ended.
        var changes = 0
        var known: IndexDefinitions?
    }

    private let state = Mutex(State())

    func beginChange() {
        state.withLock { state in
            state.changing += 1
            state.changes += 1
            state.known = nil
        }
    }

    func endChange() {
        state.withLock { state in
            state.changing -= 1
            state.changes += 1
        }
    }

    var now: Moment { state.withLock { Moment(changes: $0.changes) } }

    /// The definitions as a transaction has to see them.
    func definitions(in transaction: any StorageTransaction) throws -> IndexDefinitions {
        try definitions(asOf: now, transaction)
    }

    /// The definitions in a snapshot that was taken after `moment`.
    func definitions(asOf moment: Moment, _ reader: any StorageReader) throws -> IndexDefinitions {
        let known = state.withLock { $0.changing == 0 && $0.changes == moment.changes ? $0.known : nil }
        if let known { return known }
        let read = IndexDefinitions(try reader.indexDefinitions())
        state.withLock { state in
            if state.changing == 0 && state.changes == moment.changes { state.known = read }
        }
        return read
    }
}
