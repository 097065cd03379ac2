import NephosStorage
import Synchronization

/// The databases that may have subscribers, and to which record types, cached: what is not watched pays nothing for
/// subscriptions.
///
/// A type is added before the transaction that makes its first subscription commits, and is never taken out, so a
/// save that does not find its database here has no subscriber to notify. What other processes add is noticed by its version in
/// the store: a transaction that notifies calls `refresh` first.
final class SubscriptionIndex: Sendable {
    private struct State {
        var types: [OwnerID: Set<String>] = [:]
        /// The version of `SharedContent.subscribedTypes` that these are complete up to.
        var version: Int64 = 0
    }

    private let state = Mutex(State())

    /// The record types that are watched in a database, the empty one for all; nil where it is not watched.
    func types(in owner: OwnerID) -> Set<String>? { state.withLock { $0.types[owner] } }

    /// Whether a shared database may have subscribers: such are kept under negative owners.
    var containsSharedDatabases: Bool { state.withLock { $0.types.keys.contains { $0.rawValue < 0 } } }

    func insert(_ recordType: String, in owner: OwnerID) {
        state.withLock { _ = $0.types[owner, default: []].insert(recordType) }
    }

    /// Reads what the store has, where that is not known.
    func load(_ reader: StorageReader) throws {
        let known = state.withLock { $0.version }
        let version = try reader.version(of: .subscribedTypes)
        let found = try reader.subscribedTypes(after: known)
        state.withLock { state in
            state.types.merge(found) { $0.union($1) }
            state.version = max(state.version, version)
        }
    }

    /// Reads what other processes added.
    func refresh(_ transaction: StorageTransaction) throws {
        let known = state.withLock { $0.version }
        if try !transaction.isCurrent(known, of: .subscribedTypes) { try load(transaction) }
    }
}
