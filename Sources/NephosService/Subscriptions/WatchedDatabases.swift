import NephosStorage
import Synchronization

/// The databases somebody may have subscribed to, and to which record types, kept in memory: what nobody watches pays
/// nothing for subscriptions.
///
/// A type is added before the transaction that makes its first subscription commits, and is never taken out, so a
/// save that does not find its database here has nobody to tell. This takes one process that writes the store.
final class WatchedDatabases: Sendable {
    private let types = Mutex<[OwnerID: Set<String>]>([:])

    /// The record types that are watched in a database, the empty one for all; nil where nobody watches it.
    func types(in owner: OwnerID) -> Set<String>? { types.withLock { $0[owner] } }

    /// Whether somebody may have subscribed to a shared database: such are kept under negative owners.
    var containsSharedDatabases: Bool { types.withLock { $0.keys.contains { $0.rawValue < 0 } } }

    func insert(_ recordType: String, in owner: OwnerID) {
        types.withLock { _ = $0[owner, default: []].insert(recordType) }
    }

    /// Learns what the store has.
    func load(_ reader: any StorageReader) throws {
        let found = try reader.subscribedTypes()
        types.withLock { $0.merge(found) { $0.union($1) } }
    }
}
