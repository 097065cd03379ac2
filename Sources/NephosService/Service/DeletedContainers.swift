import NephosStorage
import NephosThreads
import Synchronization

/// The containers that are being deleted, or were deleted since this process started, according to the last read of the
/// installation. Their stores are not opened, so a request that was accepted before the deletion creates none.
final class DeletedContainers: Sendable {
    private struct State {
        var names: Set<String> = []
        /// The number of reads so far, and the number of the read that returned `names`.
        var (looks, latest) = (0, 0)
    }

    private let state = Mutex(State())

    func contains(_ container: String) -> Bool { state.withLock { $0.names.contains(container) } }

    /// Replaces the containers with the result of `read`, unless a read that began later has ended.
    /// - Parameter read: takes the current containers.
    func update<Failure: Error>(
        _ read: (Set<String>) async throws(Failure) -> Set<String>
    ) async throws(Failure) -> Set<String> {
        let (look, present) = state.withLock { state in
            state.looks += 1
            return (state.looks, state.names)
        }
        let names = try await read(present)
        state.withLock { state in
            if look > state.latest { (state.names, state.latest) = (names, look) }
        }
        return names
    }
}

extension Stores {
    /// Finds a piece of a deleted container's stores, which are closed.
    /// - Parameter limit: the maximum number of rows or files of a piece.
    /// - Returns: nil once nothing is left.
    nonisolated func removalPiece(of container: String, limit: Int) async throws -> RemovalPiece? {
        try await BlockingPool.network.run { [provider] in try provider.removalPiece(of: container, limit: limit) }
    }
}
