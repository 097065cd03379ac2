import NephosStorage
import Synchronization

/// Sums what this server waited for: `StorageWaits`.
final class WaitMeter: Sendable {
    private let connections = Atomic<Int64>(0)
    private let owners = Atomic<Int64>(0)
    private let stores = Atomic<Int64>(0)
    private let deadlocks = Atomic<Int>(0)

    func waitedForConnection(nanoseconds: Int64) { connections.wrappingAdd(nanoseconds, ordering: .relaxed) }

    func waitedForLocks(owners: Int64, stores: Int64) {
        self.owners.wrappingAdd(owners, ordering: .relaxed)
        self.stores.wrappingAdd(stores, ordering: .relaxed)
    }

    func noteDeadlock() { deadlocks.wrappingAdd(1, ordering: .relaxed) }

    var waits: StorageWaits {
        var waits = StorageWaits()
        waits.connections = Double(connections.load(ordering: .relaxed)) / 1e9
        waits.owners = Double(owners.load(ordering: .relaxed)) / 1e6
        waits.stores = Double(stores.load(ordering: .relaxed)) / 1e6
        waits.deadlocks = deadlocks.load(ordering: .relaxed)
        return waits
    }
}
