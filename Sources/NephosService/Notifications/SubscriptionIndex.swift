import NephosStorage
import Synchronization

/// A cache of the databases and record types that may have subscribers. Writes to other databases and types skip
/// notifications at no cost.
///
/// A type is added before the transaction of its first subscription commits, and is never removed. So a save whose
/// database is missing here has no subscriber to notify. Additions by other processes are noticed by the version in the
/// store: a transaction that notifies calls `refresh` first.
final class SubscriptionIndex: Sendable {
    private struct State {
        var types: [OwnerID: Set<String>] = [:]
        /// The version of `SharedContent.subscribedTypes` up to which `types` is complete.
        var version: Int64 = 0
    }

    private let state = Mutex(State())

    /// The record types with subscribers in a database; the empty type stands for all types. Nil if the database has no
    /// subscribers.
    func types(in owner: OwnerID) -> Set<String>? { state.withLock { $0.types[owner] } }

    /// Whether any shared database may have subscribers. The types of shared databases are stored under negative
    /// owners.
    var containsSharedDatabases: Bool { state.withLock { $0.types.keys.contains { $0.rawValue < 0 } } }

    func insert(_ recordType: String, in owner: OwnerID) {
        state.withLock { _ = $0.types[owner, default: []].insert(recordType) }
    }

    /// Loads the types that the cache does not have yet.
    func load(_ reader: StorageReader) throws {
        let known = state.withLock { $0.version }
        let version = try reader.version(of: .subscribedTypes)
        let found = try reader.subscribedTypes(after: known)
        state.withLock { state in
            state.types.merge(found) { $0.union($1) }
            state.version = max(state.version, version)
        }
    }

    /// Loads the types that other processes have added.
    func refresh(_ transaction: StorageTransaction) throws {
        let known = state.withLock { $0.version }
        if try !transaction.isCurrent(known, of: .subscribedTypes) { try load(transaction) }
    }
}
