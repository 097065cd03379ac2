import NephosStorage
import Synchronization

/// The databases somebody may have subscribed to, kept in memory: what nobody watches pays nothing for subscriptions.
///
/// An owner is added before the transaction that makes its first subscription commits, and is never taken out, so a
/// save that does not find its database here has nobody to tell. This takes one process that writes the store.
final class WatchedDatabases: Sendable {
    private let owners = Mutex<Set<OwnerID>>([])

    func contains(_ owner: OwnerID) -> Bool { owners.withLock { $0.contains(owner) } }

    func insert(_ owner: OwnerID) { owners.withLock { _ = $0.insert(owner) } }

    /// Learns what the store has.
    func load(_ reader: any StorageReader) throws {
        let found = try reader.subscriptionOwners()
        owners.withLock { $0.formUnion(found) }
    }
}
